// Against the ceiling: the roofline, which is what each pick reaches, between what the GPU's memory and its units were measured to give.

import { Chooser, el } from '../dom';
import { bytesText, counted, rateText, shortNumber } from '../format';
import { at } from '../group';
import type { Ceiling, Report, RooflinePoint } from '../report';
import { type Sample, sample, sampleText } from '../sample';
import type { State, View } from '../state';
import { plainTable } from '../table';
import type { Theme } from '../theme';
import { Section } from '../views/section';
import { ceilingChart } from './ceiling';
import type { Chart, ChartOption } from './echarts';
import { ChartFigure } from './figure';
import { isHovered, label, legend, logAxis, logRange, tooltip, wrapped } from './parts';

const kCloudPoints = 1500;
const kNarrow = 560;  // px: the legend takes two lines
const kSameIntensity = 2;  // operations per byte that differ by less are one line
const kSameRoof = 1.03;  // rates that no eye tells apart on a logarithmic axis

interface Scene {
  readonly slopes: readonly Ceiling[];  // bytes/s
  readonly roofs: readonly Ceiling[];   // flop/s
  readonly points: readonly RooflinePoint[];
  readonly x: { readonly min: number; readonly max: number };
  readonly y: { readonly min: number; readonly max: number };
}

// Lines that no eye tells apart are one, with the name of the fastest: copies that different kernels of mgtune measured.
function fastestOfEach(slopes: readonly Ceiling[]): readonly Ceiling[] {
  const sorted = [...slopes].sort((a, b) => b.rate - a.rate);
  return sorted.filter((each, i) => i === 0 || at(sorted, i - 1).rate / each.rate >= kSameRoof);
}

// Of the GPU of the group in sight, all its problems.
function sceneOf(state: State, near: boolean): Scene | null {
  const { report, problem, group } = state;
  if (problem === null || group === null) return null;
  const ceilings = report.roofline.ceilings.filter((each) => each.gpu === problem.gpu);
  const points = report.roofline.points.filter((each) => at(report.problems, each.problem).gpu === problem.gpu);
  const slopes = fastestOfEach(ceilings.filter((each) => each.unit === 'bytes/s'));
  const roofs = ceilings.filter((each) => each.unit === 'flop/s').sort((a, b) => a.rate - b.rate);
  const memory = Math.max(0, ...slopes.map((each) => each.rate));
  const top = Math.max(0, ...roofs.map((each) => each.rate));
  const intensities = points.map((each) => each.intensity);
  const rates = points.map((each) => each.flops_per_s);
  const reached = points.map((each) => Math.min(each.intensity * memory, top > 0 ? top : Infinity));
  const ridge = memory > 0 ? top / memory : NaN;
  const x = logRange(near ? intensities : [...intensities, ridge * 3], near ? 2 : 3);
  const y = logRange(near ? [...rates, ...reached] : [...rates, ...reached, top], near ? 1.3 : 2);
  return x === null || y === null ? null : { slopes, roofs, points, x, y };
}

// Where a line through the origin of slope `rate` enters and leaves the box.
function slope(rate: number, { x, y }: Scene, roof: number): readonly (readonly [number, number])[] {
  const from = Math.max(x.min, y.min / rate);
  const to = Math.min(x.max, (roof > 0 ? roof : Infinity) / rate, y.max / rate);
  return from < to ? [[from, from * rate], [to, to * rate]] : [];
}

// Whether all problems of the GPU lie more than a decade below the highest ridge: with all ceilings in sight they would
// be a heap in a corner.
function isFarFromRidge(state: State): boolean {
  const scene = sceneOf(state, true);
  if (scene === null || scene.roofs.length === 0 || scene.slopes.length === 0) return false;
  const ridge = Math.max(...scene.roofs.map((each) => each.rate)) / Math.max(...scene.slopes.map((each) => each.rate));
  return scene.points.every((each) => each.intensity * 10 < ridge);
}

export function ceilingRate(ceiling: Ceiling): string {
  return rateText(ceiling.rate, ceiling.unit === 'bytes/s' ? 'B/s' : 'FLOP/s');
}

function rooflineChart(state: State, near: () => boolean): ChartFigure {
  let drawn: readonly (readonly RooflinePoint[])[] = [];
  let cloud: Sample = { rows: [], of: 0 };

  function option(theme: Theme, width: number): ChartOption {
    const scene = sceneOf(state, near());
    if (scene === null) return {};
    const { x, y, points } = scene;
    const current = (point: RooflinePoint) => point.problem === state.group?.problem;
    const parts: readonly (readonly [string, readonly RooflinePoint[], object])[] = [
      ['other problems', points.filter((each) => !current(each) && each.role === 'pick'), {
        symbol: 'circle', symbolSize: 7, itemStyle: { color: theme.muted, opacity: 0.7 },
      }],
      ['counted', points.filter((each) => current(each) && each.role === 'variant'), {
        symbol: 'triangle', symbolSize: 8, itemStyle: { color: theme.series[4] },
      }],
      ['default', points.filter((each) => current(each) && each.role === 'default'), {
        symbol: 'rect', symbolSize: 10, itemStyle: { color: theme.series[1], borderColor: theme.text, borderWidth: 1 },
      }],
      ['pick', points.filter((each) => current(each) && each.role === 'pick'), {
        symbol: 'diamond', symbolSize: 15, itemStyle: { color: theme.series[0], borderColor: theme.text, borderWidth: 1 },
      }],
    ];
    drawn = parts.map(([, each]) => each);
    const seen = parts.filter(([, each]) => each.length > 0);
    return {
      grid: { left: 76, right: 28, top: width < kNarrow ? 84 : 56, bottom: 52 },
      legend: legend(theme, ['variants', ...seen.map(([name]) => name)]),
      tooltip: tooltip(theme, ({ seriesIndex, dataIndex }) => describe(seriesIndex, dataIndex)),
      xAxis: logAxis(theme, { name: 'operations per byte that must move', format: shortNumber, ...x }),
      yAxis: logAxis(theme, { name: 'FLOP/s', format: shortNumber, vertical: true, ...y }),
      series: [
        ...parts.map(([name, each, style], i) => ({
          id: `part-${i}`, name, type: 'scatter', z: 5, ...style, data: each.map((point) => [point.intensity, point.flops_per_s]),
        })),
        { id: 'cloud', name: 'variants', type: 'scatter', symbolSize: 5, itemStyle: { color: theme.series[0] }, data: [] },
        { id: 'unchosen', type: 'scatter', symbolSize: 4, itemStyle: { color: theme.muted }, data: [] },
        ...ceilingLines(theme, scene),
      ],
    };
  }

  // All variants of a problem lie on one vertical.
  function mark(): ChartOption {
    const { group, problem, selection } = state;
    if (group === null || problem === null || !(problem.bytes > 0) || !(problem.flops > 0)) return {};
    const point = (row: number) => [problem.flops / problem.bytes, (problem.flops / (group.ranked.values[row] ?? NaN)) * 1e9];
    const timed = (row: number) => !Number.isNaN(group.ranked.values[row] ?? NaN);
    cloud = sample(group, kCloudPoints, (row) => timed(row) && selection.mask[row] === 1);
    const others = sample(group, kCloudPoints / 3, (row) => timed(row) && selection.mask[row] !== 1);
    return {
      series: [
        { id: 'cloud', data: cloud.rows.map(point), itemStyle: { opacity: 0.35 } },
        { id: 'unchosen', data: others.rows.map(point), itemStyle: { opacity: 0.1 } },
      ],
    };
  }

  function describe(series: number, index: number): string {
    const point = drawn[series]?.[index];
    if (point === undefined) return '';
    const problem = at(state.report.problems, point.problem);
    return [
      `${label(`${problem.operator} ${problem.problem}`, 70)}: ${point.role}`, rates(point), wrapped(point.limit),
    ].filter((line) => line !== '').join('\n');
  }

  return new ChartFigure({
    title: 'What the variants reach of what was measured',
    height: 440,
    option,
    mark,
    made: (chart: Chart) => chart.on('click', (event: unknown) => {
      const point = isHovered(event) ? drawn[event.seriesIndex]?.[event.dataIndex] : undefined;
      if (point !== undefined) state.chooseProblem(point.problem, point.method);
    }),
    summary: () => summary(state, cloud),
    table: () => rooflineTables(state),
  });
}

function rates(point: RooflinePoint): string {
  const measured = point.measured_intensity === null ? '' :
    `, ${shortNumber(point.measured_intensity)} FLOP per byte of DRAM traffic counted`;
  return `${rateText(point.flops_per_s, 'FLOP/s')}, ${rateText(point.bytes_per_s, 'B/s')} at ${shortNumber(point.intensity)} FLOP per byte${measured}`;
}

function summary(state: State, cloud: Sample): string {
  const point = state.report.roofline.points.find((each) => each.role === 'pick' && each.problem === state.group?.problem);
  if (point === undefined) return '';
  const shares = state.pick?.ceilings.map((each) => each.text) ?? [];
  const share = shares.length === 0 ? '' : ` That is ${shares.join(', ')}.`;
  return `The pick does ${rates(point)}.${share} The lines are the fastest copies and the peaks measured on this GPU. ${sampleText(cloud)}`;
}

function ceilingLines(theme: Theme, scene: Scene): readonly object[] {
  const { x, roofs, slopes } = scene;
  const top = roofs.at(-1)?.rate ?? 0;
  const memory = Math.max(0, ...slopes.map((each) => each.rate));
  const style = (type: string) => ({
    type: 'line', symbol: 'none', silent: true, z: 2, lineStyle: { color: theme.text, width: 1.5, type, opacity: 0.75 },
  });
  const text = (words: string, align: string, down: boolean, aside: number) => ({
    label: {
      show: true, position: align === 'right' ? 'left' : 'right', align, verticalAlign: down ? 'top' : 'bottom', offset: [aside, down ? 4 : -4],
      distance: 4, color: theme.text, fontSize: 11, textBorderColor: theme.ground, textBorderWidth: 3, formatter: () => words,
    },
    symbol: 'circle', symbolSize: 1,
  });
  // Roofs that lie on each other share one label.
  const same = (a: Ceiling | undefined, b: Ceiling | undefined) => a !== undefined && b !== undefined && b.rate / a.rate < kSameRoof;
  const horizontal = roofs.map((roof, i) => {
    const above = roofs[i + 1];
    let first = i;
    while (same(roofs[first - 1], roof)) --first;
    const names = roofs.slice(first, i + 1).map((each) => label(each.label).replace(/ peak$/, '')).join(', ');
    const close = above !== undefined && above.rate / roof.rate < 1.5;
    const start = Math.max(x.min, memory > 0 ? roof.rate / memory : x.min);
    const end = same(roof, above) ? { value: [x.max, roof.rate] }
      : { value: [x.max, roof.rate], ...text(`${names} peak ${ceilingRate(roof)}`, 'right', close, 0) };
    return { ...style('solid'), data: start >= x.max ? [] : [[start, roof.rate], end] };
  });
  // The fastest is named above its line, the others below theirs.
  const sloped = [...slopes].sort((a, b) => b.rate - a.rate).map((each, i) => {
    const [from, to] = slope(each.rate, scene, top);
    if (from === undefined || to === undefined) return { ...style('dashed'), data: [] };
    const middle = from[0] * (to[0] / from[0]) ** 0.4;
    const words = `${label(each.label)} ${ceilingRate(each)}`;
    const named = { value: [middle, middle * each.rate], ...(i === 0 ? text(words, 'right', false, -4) : text(words, 'left', true, 4)) };
    return { ...style(i === 0 ? 'solid' : 'dashed'), data: [from, named, to] };
  });
  return [...horizontal, ...sloped];
}

function rooflineTables(state: State): HTMLElement {
  const { report, problem } = state;
  const ofGpu = (index: number) => at(report.problems, index).gpu === problem?.gpu;
  const points = plainTable({ caption: 'Points', filter: true }, report.roofline.points.filter((each) => ofGpu(each.problem)), [
    { title: 'problem', text: (each) => `${at(report.problems, each.problem).operator} ${at(report.problems, each.problem).problem}` },
    { title: 'what', text: (each) => each.role },
    { title: 'FLOP/byte', number: true, text: (each) => shortNumber(each.intensity), order: (each) => each.intensity },
    { title: 'FLOP/byte counted', number: true, text: (each) => (each.measured_intensity === null ? '' : shortNumber(each.measured_intensity)), order: (each) => each.measured_intensity ?? NaN },
    { title: 'GFLOP/s', number: true, text: (each) => (each.flops_per_s / 1e9).toFixed(1), order: (each) => each.flops_per_s },
    { title: 'GB/s', number: true, text: (each) => (each.bytes_per_s / 1e9).toFixed(1), order: (each) => each.bytes_per_s },
    { title: 'what limits it', text: (each) => each.limit },
  ]);
  const box = document.createElement('div');
  box.append(points, ceilingTable(report, problem === null ? [] : [problem.gpu]));
  return box;
}

// Every copy and read, by what it moved, and the peaks: what a share in the report is a share of stands here.
export function ceilingTable(report: Report, gpus: readonly number[]): HTMLElement {
  const { ceilings, bandwidth_by_size: series } = report.roofline;
  const bySize = series.filter((each) => gpus.includes(each.gpu));
  const isOf = (each: Ceiling, other: (typeof bySize)[number]) => each.gpu === other.gpu && each.method === other.method && each.kind === other.kind;
  const measured_at = (each: (typeof bySize)[number], bytes: number) =>
    ceilings.find((ceiling) => isOf(ceiling, each) && ceiling.bytes === bytes)?.measured_at ?? '';
  const rows: readonly Ceiling[] = [
    ...bySize.flatMap((each) => [...each.bytes].map((bytes, i): Ceiling => ({
      gpu: each.gpu, method: each.method, kind: each.kind, label: each.kind, unit: 'bytes/s', rate: each.rate[i] ?? NaN, bytes,
      measured_at: measured_at(each, bytes),
    }))),
    ...ceilings.filter((each) => gpus.includes(each.gpu) && !bySize.some((other) => isOf(each, other))),
  ];
  return plainTable({ caption: `${counted(rows.length, 'ceiling')}, as measured on ${gpus.length > 1 ? 'these GPUs' : 'this GPU'}` }, rows, [
    ...(gpus.length > 1 ? [{ title: 'GPU', text: (each: Ceiling) => at(report.gpus, each.gpu).model }] : []),
    { title: 'ceiling', text: (each) => each.label },
    { title: 'rate', number: true, text: ceilingRate, order: (each) => each.rate },
    { title: 'bytes moved', number: true, text: (each) => (each.bytes > 0 ? bytesText(each.bytes) : ''), order: (each) => each.bytes },
    { title: 'timed by', text: (each) => report.methods[each.method]?.name ?? '' },
    { title: 'measured (UTC)', text: (each) => each.measured_at },
  ]);
}

// Whether all problems do as many operations per byte: then a roofline would be one vertical line.
function isOneLine(state: State): boolean {
  const intensities = sceneOf(state, true)?.points.map((each) => each.intensity) ?? [];
  return Math.max(...intensities) < kSameIntensity * Math.min(...intensities);
}

export function rooflineView(state: State): View {
  let wish: string | null = null;  // until one is expressed, what shows the points
  const shown = () => wish ?? (isFarFromRidge(state) ? 'near' : 'all');
  const chart = rooflineChart(state, () => shown() === 'near');
  const shares = ceilingChart(state);
  const range = new Chooser('Show', (value) => {
    wish = value;
    chart.update();
  });
  const section = new Section('roofline', 'Against the ceiling', el('div', { class: 'controls' }, range.element), chart.element, shares.element);
  state.selection.listen(() => {
    chart.mark();
    shares.mark();
  });
  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'roofline')) return;
      const isLine = isOneLine(state);
      chart.element.hidden = isLine;
      shares.element.hidden = !isLine;
      range.offer(isLine ? [] : [{ value: 'all', text: 'all ceilings' }, { value: 'near', text: 'around the points' }], shown());
      chart.update();
      shares.update();
    },
  };
}
