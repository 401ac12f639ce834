// Documents to open pages with, in the format of reports/README.md: made up, the same in every run, and of any
// size. smallDocument() has something in every part, emptyDocument() in none, hostileDocument() has names that
// would do harm if they were anything but text.

const kOutcomes = ['ok', 'wrong', 'crashed', 'timeout', 'compile_failed', 'launch_failed', 'unsupported', 'raced_out', 'unstable'];
const kDesigns = [
  { name: 'row', parameters: { THREADS: [64, 128, 256, 512, 1024], ROWS: [1, 2, 4], VEC: [1, 2, 4, 8], LOAD: ['no_allocate', 'normal', 'streaming'] } },
  { name: 'bulk', parameters: { THREADS: [64, 128, 256, 512, 1024], CLUSTER: [1, 2, 4], VEC: [1, 2, 4, 8], PDL: [false, true] } },
];
const kPartsThatMayLack = [
  'picks', 'roofline', 'importance', 'heat_map', 'parallel', 'best_so_far', 'finals', 'sizes', 'counters',
  'failures', 'pruning', 'environment', 'baseline',
];

// Mulberry32: the same numbers everywhere.
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const round = (value) => Number(value.toPrecision(7));

// A variant of the space: a design and a place in the list of values for each of its parameters.
function draw(random, extra) {
  const d = random() < 0.65 ? 0 : 1;
  const values = Object.fromEntries(Object.entries(kDesigns[d].parameters).map(([name, list]) =>
    [name, Math.floor(random() * list.length)]));
  for (let i = 0; i < extra; ++i) values[`UNROLL_${i}`] = Math.floor(random() * 4);
  return { d, values };
}

// How its time compares with the best possible: each parameter has its factor, two of them interact.
function slowdown({ d, values }, random) {
  const { THREADS, VEC } = values;
  let factor = d === 0 ? 1 : 1.05;
  factor *= [1.9, 1.35, 1.1, 1][VEC] * (1 + 0.08 * Math.abs(THREADS - 2) * (VEC > 1 ? 1 : 2.2));
  if (values.LOAD !== undefined) factor *= [1, 1.03, 1.02][values.LOAD];
  if (values.CLUSTER !== undefined) factor *= [1, 1.02, 1.12][values.CLUSTER];
  for (const [name, value] of Object.entries(values)) {
    if (name.startsWith('UNROLL')) factor *= 1 + 0.01 * value;
  }
  return factor * (1 + 0.03 * random());
}

function makeProblem(options, index, random) {
  const { variants, extra, failures, rows } = options;
  const base = 1800 + rows * 4.1;
  const all = Array.from({ length: variants }, () => {
    const variant = draw(random, extra);
    const failed = random() < failures;
    const outcome = failed ? [1, 4, 3][Math.floor(random() * 3)] : random() < 0.4 ? 7 : 0;
    return { ...variant, outcome, time: failed ? null : base * slowdown(variant, random) };
  });
  all.forEach((variant, order) => (variant.order = order));
  all.sort((a, b) => (a.time ?? Infinity) - (b.time ?? Infinity));
  const timed = all.filter((each) => each.time !== null);
  timed[0].outcome = 0;
  const fallback = Math.floor(timed.length / 3);
  timed[fallback].outcome = 0;
  const finalists = [0, 1, 2, 3, fallback];

  const names = [...new Set([...kDesigns.flatMap((each) => Object.keys(each.parameters)),
    ...Array.from({ length: extra }, (_, i) => `UNROLL_${i}`)])];
  const parameters = names.map((name) => ({
    name,
    values: kDesigns[0].parameters[name] ?? kDesigns[1].parameters[name] ?? [1, 2, 4, 8],
    index: all.map((each) => each.values[name] ?? -1),
  }));
  const designs = kDesigns.map((each) => ({
    name: each.name,
    parameters: [...Object.keys(each.parameters), ...names.filter((name) => name.startsWith('UNROLL'))].map((name) => names.indexOf(name)),
  }));
  const text = (row) => [kDesigns[all[row].d].name, ...designs[all[row].d].parameters.map((p) =>
    `${names[p]}=${parameters[p].values[parameters[p].index[row]]}`)].join(' ');
  const time = (factor) => all.map((each) => (each.time === null ? null : round(each.time * factor)));
  const flag = (row, each) =>
    (row === 0 ? 1 : 0) | (row === fallback ? 2 : 0) | (finalists.includes(row) ? 8 : 0) | (row < 2 ? 16 : 0) | (each.time === null ? 0 : 64);

  const problem = {
    gpu: 0, operator: options.operator, problem: `rows=${rows} hidden=4096 T=bf16`, values: { rows, hidden: 4096, T: 'bf16' },
    bytes: rows * 4096 * 4, flops: rows * 4096 * 4, tolerance: 0.008,
    rerun: `mgtune profile --kernel ${options.operator} --problem rows=${rows},hidden=4096,T=bf16 --gpu 'NVIDIA H200' --variant`,
    first: 0, count: variants, designs, parameters,
    variants: {
      design: all.map((each) => each.d), outcome: all.map((each) => each.outcome),
      method: all.map((each) => (each.time === null ? -1 : 0)),
      median_ns: time(1), low_ns: time(0.998), high_ns: time(1.002), q1_ns: time(0.995), q3_ns: time(1.005), min_ns: time(0.99),
      samples: all.map((each) => (each.time === null ? null : 40)),
      registers: all.map((each) => 32 + 8 * each.values.VEC), spill_bytes: all.map(() => 0), static_shared_bytes: all.map(() => 64),
      code_bytes: all.map((each) => 1024 * each.values.VEC + 640), ptx_bytes: all.map((each) => 9000 + 2000 * each.values.VEC),
      error: all.map((each) => (each.outcome === 1 ? 0.5 : each.time === null ? null : 0.002)),
      message: all.map((each) => ({ 1: 0, 4: 1, 3: 2 })[each.outcome] ?? -1),
      log: all.map((each) => (each.outcome === 3 ? -1 : each.d % 2)),
      flags: all.map((each, row) => flag(row, each)),
      order: all.map((each) => each.order), seconds: all.map((each) => round(0.3 + each.order * 0.021)), sweep: all.map(() => 0),
    },
  };
  return { problem, text, all, finalists, fallback, index };
}

function bestSoFar({ all, fallback, index }) {
  const steps = [];
  const rows = new Map(all.map((each, row) => [each.order, row]));
  for (let order = 0; order < all.length; ++order) {
    const row = rows.get(order);
    const { time } = all[row];
    if (time === null || (steps.length > 0 && time >= steps.at(-1).best_ns)) continue;
    steps.push({ evaluation: order + 1, seconds: round(0.3 + order * 0.021), best_ns: round(time), row });
  }
  return {
    problem: index, method: 0, evaluations: all.length, seconds: round(0.3 + all.length * 0.021), order_known: true, steps,
    default_ns: round(all[fallback].time),
  };
}

function importance({ problem, all, index }) {
  const timed = all.filter((each) => each.time !== null && each.d === 0);
  const mean = (list) => list.reduce((sum, each) => sum + Math.log(each.time), 0) / list.length;
  const overall = mean(timed);
  const spread = timed.reduce((sum, each) => sum + (Math.log(each.time) - overall) ** 2, 0);
  const parameters = problem.designs[0].parameters.map((p) => {
    const { name, values } = problem.parameters[p];
    let explained = 0;
    const effects = values.map((_, value) => {
      const list = timed.filter((each) => each.values[name] === value);
      if (list.length === 0) return null;
      explained += list.length * (mean(list) - overall) ** 2;
      const ratio = Math.exp(mean(list) - overall);
      const best = Math.min(...list.map((each) => each.time)) / timed[0].time;
      return { value, variants: list.length, ratio: round(ratio), low: round(ratio * 0.97), high: round(ratio * 1.03), best_ratio: round(best) };
    }).filter((each) => each !== null);
    const main = spread > 0 ? explained / spread : 0;
    return { parameter: p, main: round(main), total: round(Math.min(1, main * 1.2)), effects };
  }).sort((a, b) => b.total - a.total);
  return {
    problem: index, method: 0, variants: timed.length, design_share: 0.04, note: 'Taken from the variants that a search chose, not from all.',
    designs: [{
      design: 0, variants: timed.length, spread: round(timed.at(-1).time / timed[0].time), parameters,
      interactions: [{ a: 0, b: 2, share: 0.05 }, { a: 0, b: 1, share: 0.01 }],
    }],
  };
}

function final({ text, all, finalists, fallback, index }, random) {
  const rounds = 40;
  return {
    problem: index, method: 0, noise_floor: 0.0035, rounds, note: '', not_counted: '',
    clocks: { sm_mhz: 1980, memory_mhz: 3201, power_w: 402, temperature_c: 41, throttle_reasons: '', throttled_samples: 0 },
    finalists: finalists.map((single, place) => {
      const median = all[single].time;
      const row = { 2: 3, 3: 2 }[single] ?? single;  // the final turned these two round
      return {
        row, variant: text(row), is_default: row === fallback, is_pick: row === 0, median_ns: round(median), low_ns: round(median * 0.998),
        high_ns: round(median * 1.002), ratio: round(median / all[fallback].time), ratio_low: round(0.997 * median / all[fallback].time),
        ratio_high: round(1.003 * median / all[fallback].time), tied: place < 2,
        samples_ns: Array.from({ length: rounds }, () => round(median * (0.994 + 0.008 * random() + (random() < 0.05 ? 0.02 : 0)))),
      };
    }),
  };
}

function pick({ problem, text, all, fallback, index }) {
  const time = all[0].time;
  const fallbackTime = all[fallback].time;
  const fraction = (problem.bytes / time) / 4200;
  const ceiling = { name: 'copy of 64.0 MiB', fraction: round(fraction), text: `${(fraction * 100).toFixed(1)} % of the copy of 64.0 MiB` };
  return {
    problem: index, method: 0, row: problem.first, variant: text(0), design: kDesigns[all[0].d].name,
    time_ns: round(time), low_ns: round(time * 0.998), high_ns: round(time * 1.002),
    default_row: problem.first + fallback, default_variant: text(fallback), default_ns: round(fallbackTime),
    standing: 'faster', speedup: round(fallbackTime / time), speedup_low: round(0.99 * fallbackTime / time), speedup_high: round(1.01 * fallbackTime / time),
    baseline: { variant: text(1), time_ns: round(all[1].time), speedup: round(all[1].time / time), speedup_low: null, speedup_high: null, verdict: 'unsure' },
    ceiling, ceilings: [ceiling], bandwidth_gbps: round(problem.bytes / time), gflops: round(problem.flops / time), noise_floor: 0.0035,
    tied: [text(0), text(1)], tied_rows: [problem.first, problem.first + 1],
    against_default: [
      `The pick differs from the default in 2 of 4 parameters (default -> pick): THREADS 64 -> ${problem.values.rows}, VEC 1 -> 8.`,
      'Of what differs, VEC matters most: among the 190 timed variants of row, changing VEC alone accounts for 81 % of the variation of the time.',
    ],
    why: [
      'The pick reaches 92.0 % of the copy of 64.0 MiB, torch.compile 2.11.0 47.0 % of it.',
      'With one parameter changed: VEC=4 instead of 8 takes 1.31x, THREADS=64 instead of 256 takes about 1.12x the time of the pick.',
      'The pick has, beside the runner-up `bulk CLUSTER=2` (1.012x): registers 40 instead of 64. Alike are: bytes read from DRAM, L2 hit rate.',
    ],
    next: { text: '190 of 4,100 admissible variants were tried. A sweep with a longer --budget goes on from there:', command: 'mgtune sweep rmsnorm.forward --gpu H200 --budget 60s' },
    limit: `Memory bandwidth: ${Math.round(fraction * 100)} % of the copy rate at these bytes (time and cost).`,
    variants_ok: all.filter((each) => each.time !== null).length, variants_failed: all.filter((each) => each.time === null).length,
    imported: false, build_sha256: 'ab12'.repeat(16), default_build_sha256: 'cd34'.repeat(16), registers: 56, spill_bytes: 0, sweep: 0,
    use: `mgtune explain --kernel ${problem.operator} --problem rows=${problem.values.rows},hidden=4096,T=bf16`,
    ship: `mgtune pack --kernel ${problem.operator} --gpu H200 -o ${problem.operator}.mgpack`,
  };
}

function shell() {
  return {
    format: 2, generated_at: '2026-11-21T22:00:00Z', mgtune_version: '0.1.0', title: 'mgtune report', live: false, emulation: false,
    emulation_note: 'Times marked emulation are those of the cpu device: they exercise the pipeline and say nothing about a GPU.',
    verdict: [], counts: [], outcomes: kOutcomes,
    methods: [{ name: 'rotating', description: 'Every launch uses another set of buffers, together more than three times the L2 cache.' }],
    messages: [], compile_logs: [], gpus: [], missing: Object.fromEntries(kPartsThatMayLack.map((part) => [part, null])), problems: [], picks: [], peers: [],
    roofline: { ceilings: [], bandwidth_by_size: [], points: [] }, importance: [], best_so_far: [], finals: [], sizes: [], counters: [],
    failures: [], pruning: [], sweeps: [], machines: [], builds: [],
    measured: ['Every variant was compared with the operator\'s reference before it was timed.', 'A time is the median of its samples.'],
  };
}

export function emptyDocument() {
  const document = shell();
  document.verdict = ['No variant has been evaluated yet.'];
  for (const part of kPartsThatMayLack) {
    document.missing[part] = { text: `Nothing of ${part} was recorded.`, command: 'mgtune sweep --kernel rmsnorm --gpu auto' };
  }
  return document;
}

// Problems of growing size, each with `variants`, or with those of a list; `extra` parameters beyond the designs' own.
function makeDocument({ problems, variants, extra, failures, operator = 'rmsnorm.forward' }) {
  const random = randomNumbers(7);
  const document = shell();
  const made = Array.from({ length: problems }, (_, i) =>
    makeProblem({ variants: variants[i] ?? variants, extra, failures, operator, rows: 64 * 4 ** i }, i, random));
  let first = 0;
  for (const { problem } of made) {
    problem.first = first;
    first += problem.count;
  }
  const rows = (part, entry) => (entry === null ? null : made[part].problem.first + entry);
  const picks = made.map(pick);
  const outcomes = made.flatMap(({ all }) => all.map((each) => each.outcome));
  const gpu = {
    model: 'NVIDIA H200', arch: 'sm_90', sm_count: 132, l2_bytes: 62914560, memory_bytes: 150109880320, max_shared_bytes: 232448,
    mig_profile: '', emulation: false,
  };
  const ceiling = (kind, label, unit, rate, bytes) =>
    ({ gpu: 0, method: 0, kind, label, unit, rate, bytes, measured_at: '2026-11-21T21:00:00Z' });
  const point = (part, row, role) => {
    const { problem, all, index } = made[part];
    const { time } = all[row];
    return {
      problem: index, method: 0, row: rows(part, row), role, intensity: problem.flops / problem.bytes, flops_per_s: round(problem.flops / time * 1e9),
      bytes_per_s: round(problem.bytes / time * 1e9), measured_intensity: role === 'pick' ? round(1.02 * problem.flops / problem.bytes) : null,
      limit: picks[part].limit,
    };
  };
  const sizePoints = made.map(({ problem, all, fallback, text, index }) => ({
    problem: index, pick: index, size: problem.values.rows, time_ns: round(all[0].time), low_ns: round(all[0].time * 0.998),
    high_ns: round(all[0].time * 1.002), default_ns: round(all[fallback].time), copy_ns: round(1500 + problem.bytes / 4200), variant: text(0),
  }));
  const failed = [[1, 0, 'the output differs from the reference beyond the tolerance'], [4, 1, 'the compiler refused it'],
    [3, 2, 'not finished at the deadline']];
  Object.assign(document, {
    title: `mgtune report: ${operator} on NVIDIA H200`,
    verdict: [
      `On NVIDIA H200, the tuned variant beats the default on ${problems} of ${problems} problems, by up to ${Math.max(...picks.map((each) => each.speedup)).toFixed(2)}x.`,
      `${outcomes.length} variants evaluated; a variant that failed is never dispatched.`,
    ],
    counts: kOutcomes.map((outcome, i) => ({ outcome, count: outcomes.filter((each) => each === i).length, failed: ![0, 7].includes(i) }))
      .filter((each) => each.count > 0),
    messages: ['y differs at [0, 3]: 1.5 instead of 1.25', 'error: too many registers\n  in row<bf16, 4096>\n  1 error detected', 'no answer for 10 s'],
    compile_logs: [0, 1].map((kind) => `ptxas info    : Compiling entry function 'rmsnorm_forward' for 'sm_90'\nptxas info    : Used ${40 + 24 * kind} registers, used 1 barriers`),
    gpus: [gpu],
    problems: made.map((each) => each.problem),
    picks,
    roofline: {
      ceilings: [
        ceiling('copy', 'copy', 'bytes/s', 4.2e12, 536870912), ceiling('read', 'read', 'bytes/s', 4.5e12, 536870912),
        ceiling('fp32', 'fp32 peak', 'flop/s', 6.01e13, 0), ceiling('mma_bf16', 'mma bf16 peak', 'flop/s', 6.6e14, 0),
        ceiling('wgmma_bf16', 'wgmma bf16 peak', 'flop/s', 8.3e14, 0),
      ],
      bandwidth_by_size: [],
      points: made.flatMap(({ fallback }, part) => [point(part, 0, 'pick'), point(part, fallback, 'default'), point(part, 2, 'variant')]),
    },
    importance: made.map(importance),
    best_so_far: made.map((each) => {
      const best = bestSoFar(each);
      for (const step of best.steps) step.row += each.problem.first;
      return best;
    }),
    finals: made.map((each, part) => {
      const made = final(each, random);
      for (const finalist of made.finalists) finalist.row = rows(part, finalist.row);
      return made;
    }),
    sizes: [{
      gpu: 0, operator, method: 0, dim: 'rows', fixed: { hidden: 4096, T: 'bf16' }, points: sizePoints,
      boundaries: sizePoints.slice(1).map((each, i) => ({ at: Math.sqrt(each.size * sizePoints[i].size), below: sizePoints[i].variant, above: each.variant }))
        .filter((each) => each.below !== each.above),
    }],
    counters: made.flatMap(({ problem, text, index, fallback }) => [0, fallback].map((row) => ({
      problem: index, row: problem.first + row, variant: text(row), is_pick: row === 0, limit: picks[index].limit,
      values: [
        { name: 'dram_read_bytes', value: problem.bytes / 2 }, { name: 'dram_write_bytes', value: problem.bytes / 2 },
        { name: 'dram_throughput_percent', value: row === 0 ? 91.2 : 74.5 }, { name: 'occupancy_percent', value: row === 0 ? 62 : 48.4 },
        { name: 'sm_throughput_percent', value: 31.5 }, { name: 'l2_throughput_percent', value: 55.1 }, { name: 'duration_ns', value: null },
      ],
    }))),
    failures: failed.map(([outcome, message, explanation]) => ({
      outcome, explanation, message, headline: ['y differs at [0, 3]: 1.5 instead of 1.25', 'error: too many registers ...', 'no answer for 10 s'][message],
      count: outcomes.filter((each) => each === outcome).length,
      rows: outcomes.flatMap((each, row) => (each === outcome ? [row] : [])).slice(0, 20),
    })).filter((each) => each.count > 0),
    pruning: made.map((each) => ({
      gpu: 0, operator, problem: each.problem.problem, design: 'row', rule: 'VEC * sizeof(T) <= 16', count: 120,
    })),
    sweeps: [{
      id: 1, command: 'mgtune sweep --kernel rmsnorm --gpu H200', repeat: 'mgtune sweep --kernel rmsnorm --gpu H200 --strategy adaptive', strategy: 'adaptive',
      budget: '', started_at: '2026-11-21T21:00:00Z', finished_at: '2026-11-21T21:05:00Z', gpu: 0, machine: 0, imported: false, variants: outcomes.length,
    }],
    machines: [{ gpu: 0, driver: '580.159.04, CUDA 13.0', compiler: 'nvrtc 13.0.88', system: 'Ubuntu 24.04, Linux 6.18, x86_64', mgtune_version: '0.1.0' }],
    builds: picks.flatMap((each) => [
      { problem: each.problem, row: each.row, variant: each.variant, role: 'pick', sha256: each.build_sha256 },
      { problem: each.problem, row: each.default_row, variant: each.default_variant, role: 'default', sha256: each.default_build_sha256 },
    ]),
  });
  return document;
}

export function smallDocument() {
  return makeDocument({ problems: 4, variants: 300, extra: 0, failures: 0.08 });
}

// With times of other implementations, one of them far slower than the others, by another method than the picks. One problem
// does more operations per byte than the others.
export function peersDocument() {
  const document = smallDocument();
  const peers = document.picks.flatMap((pick) => {
    const { gpu, operator, problem } = document.problems[pick.problem];
    return [['torch.compile', 1.4], ['F.rms_norm', 2.1], ['eager', 12]].map(([name, factor]) => ({
      gpu, operator, problem, method: 'graph', name, version: '2.11.0', median_ns: round(pick.time_ns * (factor + 0.1 * pick.problem)),
      low_ns: null, high_ns: null, measured_at: '2025-01-02T03:04:05Z',
    }));
  });
  const points = document.roofline.points.map((each) =>
    (each.problem === 0 ? { ...each, intensity: 8 * each.intensity, flops_per_s: 8 * each.flops_per_s } : each));
  return { ...document, peers, roofline: { ...document.roofline, points } };
}

// A few variants of the problem that gained most are a hundred times as slow as the others; how many.
// The picks of a tuned table that was imported: nothing is known of other variants.
export function importedDocument() {
  const document = peersDocument();
  for (const problem of document.problems) {
    const { variants } = problem;
    for (const name of Object.keys(variants)) variants[name] = [];
    Object.assign(problem, { count: 0, first: 0 });
    for (const design of problem.designs) design.parameters = [];
    for (const parameter of problem.parameters) parameter.index = [];
  }
  const missing = Object.fromEntries(['importance', 'heat_map', 'parallel', 'best_so_far', 'finals', 'counters', 'roofline'].map((part) =>
    [part, { text: 'The picks were imported.', command: 'mgtune sweep --kernel rmsnorm --gpu auto' }]));
  const empty = { importance: [], best_so_far: [], finals: [], counters: [], failures: [], builds: [], counts: [] };
  const picks = document.picks.map((pick) => ({ ...pick, row: null, default_row: null, imported: true, sweep: null }));
  const peers = document.peers.map((each) => (each.problem === document.problems[0].problem ? { ...each, median_ns: 0.9 * picks[0].time_ns } : each));
  return { ...document, ...empty, picks, peers, missing: { ...document.missing, ...missing }, roofline: { ceilings: [], bandwidth_by_size: [], points: [] } };
}

// The first result comes long after the start of the sweep, as for every problem but its first.
export function lateDocument() {
  const document = smallDocument();
  for (const best of document.best_so_far) {
    best.seconds += 30;
    for (const step of best.steps) step.seconds += 30;
  }
  for (const { variants } of document.problems) variants.seconds = variants.seconds.map((each) => (each === null ? null : each + 30));
  return document;
}

export function slowDocument() {
  const document = smallDocument();
  const favourite = document.picks.reduce((best, pick) => (pick.speedup > best.speedup ? pick : best));
  const { variants } = document.problems[favourite.problem];
  const timed = variants.median_ns.filter((time) => time !== null).length;
  const slow = 25;  // rows stand by time
  for (let row = timed - slow; row < timed; ++row) variants.median_ns[row] = round(variants.median_ns[row] * 100);
  return { document, slow, timed };
}

// Problems of 60, 200 and 90 variants, as a sweep leaves them that did not come to a pick.
export function unpickedDocument() {
  const document = makeDocument({ problems: 3, variants: [60, 200, 90], extra: 0, failures: 0.08 });
  for (const { variants } of document.problems) variants.flags = variants.flags.map((flags) => flags & 64);
  document.missing.picks = { text: 'No problem has a pick yet.', command: 'mgtune sweep --kernel rmsnorm --gpu auto' };
  return { ...document, picks: [], sizes: [], finals: [], builds: [], roofline: { ...document.roofline, points: [] } };
}

export function largeDocument(variants) {
  return makeDocument({ problems: 1, variants, extra: 7, failures: 0.05 });
}

// Every text in the document that is not a word of the format becomes an attack.
export function hostileDocument(attack) {
  const document = makeDocument({ problems: 2, variants: 60, extra: 1, failures: 0.2 });
  const keep = new Set(['kind', 'unit', 'role', 'standing', 'outcome', 'outcomes', 'sha256', 'dim', 'verdict']);
  const poison = (value, key) => {
    if (typeof value === 'string') return keep.has(key) ? value : `${attack}${value}`;
    if (Array.isArray(value)) return value.map((item) => poison(item, typeof item === 'string' ? key : ''));
    if (typeof value !== 'object' || value === null) return value;
    const poisonKeys = key === 'values' || key === 'fixed';
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [poisonKeys ? `${attack}${name}` : name, poison(item, name)]));
  };
  const poisoned = poison(document, '');
  poisoned.verdict = document.verdict.map((sentence) => `${attack}${sentence}`);
  return poisoned;
}
