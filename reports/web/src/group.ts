// Group: the variants of one problem that may be compared, which are those timed by one method and
// those without a time. What the views of variants show is always one group.

import { type Column, type CategoryColumn, kAbsent, kNoLabel, labelAt, type NumberColumn } from './columns';
import { DataError } from './decode';
import { countText, numberText, percentText, speedText, timeText } from './format';
import { kDefault, kFinalist, kImported, kPick, kRanked, kThrottled, kTied, type Problem, type Report } from './report';

export interface GroupKey {
  readonly problem: number;  // index into report.problems
  readonly method: number;   // index into report.methods; -1: nothing of the problem was timed
}

export interface Group extends GroupKey {
  readonly label: string;
  readonly emulation: boolean;
  readonly rows: number;
  readonly source: Int32Array;  // from a row of the group to one of the problem
  readonly columns: readonly Column[];
  readonly parameters: readonly CategoryColumn[];  // the design, then its parameters
  readonly design: CategoryColumn;
  readonly outcome: CategoryColumn;
  readonly message: CategoryColumn;
  readonly time: NumberColumn;    // ns; of ranked rows and, as a hint, of unstable ones
  readonly ranked: NumberColumn;  // ns of the rows that may be compared, else NaN
  readonly order: NumberColumn;   // of evaluation, from 1
  readonly seconds: NumberColumn; // after the start of the sweep
  readonly flags: Int32Array;
  readonly fastest_ns: number;    // NaN: nothing is ranked
}

export const kTimeKey = 'time';
export const kOrderKey = 'order';
export const kSecondsKey = 'seconds';

export function parameterKey(name: string): string {
  return `parameter ${name}`;
}

// In the order of the document; a problem that two methods timed gives two. The picks of a table that was imported have no
// variants beside them.
export function groupKeys(report: Report): readonly GroupKey[] {
  const keys: GroupKey[] = [];
  report.problems.forEach((problem, index) => {
    const timed = [...new Set(problem.variants.method)].filter((method) => method >= 0);
    const methods = timed.length > 0 ? timed : [...new Set(report.picks.filter((pick) => pick.problem === index).map((pick) => pick.method))];
    for (const method of methods.length > 0 ? methods : [-1]) keys.push({ problem: index, method });
  });
  return keys;
}

export function groupLabel(report: Report, key: GroupKey): string {
  const problem = at(report.problems, key.problem);
  const method = report.methods[key.method]?.name;
  const label = `${problem.operator} ${problem.problem} on ${at(report.gpus, problem.gpu).model}`;
  return method === undefined ? label : `${label}, timed by ${method}`;
}

// The same without the GPU and the method if the report has only one.
export function shortGroupLabel(report: Report, key: GroupKey): string {
  const problem = at(report.problems, key.problem);
  const gpu = new Set(report.problems.map((each) => each.gpu)).size > 1 ? ` on ${at(report.gpus, problem.gpu).model}` : '';
  const method = report.methods[key.method]?.name;
  return `${problem.operator} ${problem.problem}${gpu}${method !== undefined && report.methods.length > 1 ? `, timed by ${method}` : ''}`;
}

// A document that points outside its own lists is refused rather than half shown.
export function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new DataError(`no entry ${index} in a list of ${items.length}`);
  return item;
}

// The words for how a variant ended.
export function outcomeName(outcome: string): string {
  return outcome === 'raced_out' ? 'slower, stopped' : outcome;
}

function sourceRows(problem: Problem, method: number): Int32Array {
  const rows: number[] = [];
  problem.variants.method.forEach((each, row) => {
    if (each === method || each === -1) rows.push(row);
  });
  return Int32Array.from(rows);
}

// Marks in words: "pick", "default, tied".
const kMarks: readonly (readonly [number, string])[] = [
  [kPick, 'pick'], [kDefault, 'default'], [kTied, 'tied'], [kFinalist, 'final'],
  [kThrottled, 'throttled'], [kImported, 'imported'],
];

function marks(flags: Int32Array): CategoryColumn {
  const words = (bits: number) => {
    const all = kMarks.filter(([bit]) => (bits & bit) !== 0).map(([, mark]) => mark);
    return all.filter((mark) => mark !== 'final' || !all.includes('tied')).join(', ');
  };
  const known = new Map([...new Set(flags)].sort((a, b) => place(a) - place(b)).map((bits) => [bits, words(bits)]));
  const labels = [...new Set(known.values())].filter((label) => label !== kNoLabel);
  const codes = new Map([...known].map(([bits, label]) => [bits, labels.indexOf(label)]));
  return category('mark', 'mark', labels, flags.map((bits) => codes.get(bits) ?? kAbsent));
}

// Picks before defaults, and so on.
function place(bits: number): number {
  const first = kMarks.findIndex(([bit]) => (bits & bit) !== 0);
  return first === -1 ? kMarks.length : first;
}

function category(key: string, title: string, labels: readonly string[], codes: Int32Array): CategoryColumn {
  return { kind: 'category', key, title, labels, codes };
}

function measured(
  key: string, title: string, values: Float64Array, text: (value: number) => string = numberText,
): NumberColumn {
  return { kind: 'number', key, title, values, text };
}

export function makeGroup(report: Report, key: GroupKey): Group {
  const problem = at(report.problems, key.problem);
  const { variants } = problem;
  const source = sourceRows(problem, key.method);
  for (const column of Object.values(variants)) {
    const isAbsent = column.length === 0;  // older documents lack some
    if (column.length !== problem.count && !isAbsent) {
      throw new DataError(`/problems/${key.problem}/variants: a column has ${column.length} of ${problem.count} entries`);
    }
  }
  const integers = (column: Int32Array) => Int32Array.from(source, (row) => column[row] ?? kAbsent);
  const reals = (column: Float64Array) => Float64Array.from(source, (row) => column[row] ?? NaN);

  const flags = integers(variants.flags);
  const time = measured(kTimeKey, 'time', reals(variants.median_ns), timeText);
  const ranked = measured(
    'ranked', 'time', time.values.map((value, row) => (((flags[row] ?? 0) & kRanked) !== 0 ? value : NaN)), timeText);
  const fastest = ranked.values.reduce((best, value) => (value < best ? value : best), Infinity);
  const fastest_ns = Number.isFinite(fastest) ? fastest : NaN;
  const design = designColumn(problem, integers(variants.design));
  const outcome = category('outcome', 'status', report.outcomes.map(outcomeName), integers(variants.outcome));
  const message = category('message', 'message', report.messages, integers(variants.message));
  const globalRow = (row: number) => problem.first + (source[row] ?? 0);
  const order = measured(kOrderKey, 'evaluation', reals(variants.order).map((value) => value + 1), countText);
  const seconds = measured(kSecondsKey, 'seconds', reals(variants.seconds), (value) => value.toFixed(1));
  const parameters = [design, ...problem.parameters.map((parameter) =>
    category(parameterKey(parameter.name), parameter.name, parameter.values, integers(parameter.index)))];

  // What is known of single rows of the document.
  const single = (values: ReadonlyMap<number, number>) =>
    Float64Array.from(source, (_, row) => values.get(globalRow(row)) ?? NaN);
  const final = report.finals.find((each) => each.problem === key.problem && each.method === key.method);
  const finals = new Map((final?.finalists ?? []).flatMap((each) => (each.row === null ? [] : [[each.row, each.median_ns] as const])));
  const occupancy = new Map(report.counters.flatMap((each) => {
    const value = each.values.find(({ name }) => name === 'occupancy_percent')?.value ?? null;
    return each.row === null || value === null ? [] : [[each.row, value] as const];
  }));

  return {
    ...key, label: groupLabel(report, key), emulation: at(report.gpus, problem.gpu).emulation,
    rows: source.length, source, parameters, design, outcome, message, time, ranked, order, seconds, flags, fastest_ns,
    columns: [
      marks(flags), time,
      measured('final', 'in the final', single(finals), timeText),
      measured('slowdown', 'of fastest', ranked.values.map((value) => value / fastest_ns), speedText),
      outcome, ...parameters,
      measured('registers', 'registers', reals(variants.registers)),
      measured('spills', 'spill bytes', reals(variants.spill_bytes)),
      measured('shared', 'shared bytes', reals(variants.static_shared_bytes)),
      measured('code', 'code bytes', reals(variants.code_bytes)),
      measured('ptx', 'PTX bytes', reals(variants.ptx_bytes)),
      measured('occupancy', 'occupancy', single(occupancy), (value) => percentText(value / 100, 0)),
      measured('error', 'error', reals(variants.error), (value) => value.toExponential(1)),
      measured('low', '95 % from', reals(variants.low_ns), timeText),
      measured('high', 'to', reals(variants.high_ns), timeText),
      measured('q1', 'quartile 1', reals(variants.q1_ns), timeText),
      measured('q3', 'quartile 3', reals(variants.q3_ns), timeText),
      measured('samples', 'samples', reals(variants.samples)),
      order, seconds, message,
    ],
  };
}

// Designs of one name are one label, whatever parameters they list.
function designColumn(problem: Problem, codes: Int32Array): CategoryColumn {
  const labels = [...new Set(problem.designs.map((each) => each.name))];
  const place = new Map(labels.map((label, i) => [label, i]));
  const merged = Int32Array.from(problem.designs, (each) => place.get(each.name) ?? kAbsent);
  return category('design', 'design', labels, codes.map((code) => merged[code] ?? kAbsent));
}

// The text of a row of the problem, as the command line takes it: "row VEC=8 LOAD=normal".
export function variantText(problem: Problem, source: number): string {
  const design = problem.designs[problem.variants.design[source] ?? -1];
  if (design === undefined) return '';
  const values = Array.from(design.parameters, (index) => {
    const parameter = at(problem.parameters, index);
    return `${parameter.name}=${parameter.values[parameter.index[source] ?? -1] ?? ''}`;
  });
  return [design.name, ...values].join(' ');
}

// The row of the group that a global row of the document is, or null.
export function groupRow(report: Report, group: Group, globalRow: number | null): number | null {
  if (globalRow === null) return null;
  const wanted = globalRow - at(report.problems, group.problem).first;
  const { source } = group;
  let low = 0;
  let high = source.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((source[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return source[low] === wanted ? low : null;
}

// A few words for a row, where a chart has room for no more.
export function shortLabel(group: Group, row: number): string {
  const slowdown = (group.ranked.values[row] ?? NaN) / group.fastest_ns;
  const behind = slowdown > 1 ? `, ${percentText(slowdown - 1)} behind the fastest` : '';
  return `${labelAt(group.design, row)}: ${timeText(group.time.values[row] ?? NaN)}${behind}`;
}
