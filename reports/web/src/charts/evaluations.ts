// Every variant at its time, in the order of evaluation or along the clock, and the best so far. Dragging a
// box chooses the variants in it.

import type { NumberColumn } from '../columns';
import type { Constraint } from '../constraints';
import { el } from '../dom';
import { counted, countText, durationText, ordinal, shortNumber, timeName, timeText, timeTick } from '../format';
import { type Group, groupRow, kTimeKey, shortLabel } from '../group';
import type { Report } from '../report';
import { type Sample, sample, sampleText } from '../sample';
import type { State, View } from '../state';
import { plainTable } from '../table';
import { kSymbols, type Theme } from '../theme';
import { Section } from '../views/section';
import type { Chart, ChartOption } from './echarts';
import { ChartFigure } from './figure';
import { type Box, boxOf, isHovered, label, legend, legendWraps, logAxis, logRange, numberAxis, tooltip, wrapped } from './parts';

type BestSoFar = Report['best_so_far'][number];
type Step = BestSoFar['steps'][number];

interface Along {
  readonly title: string;
  readonly axis: string;
  readonly column: (state: State) => NumberColumn | null;
  readonly place: (step: Step) => number | null;
  readonly end: (best: BestSoFar) => number | null;
  readonly text: (value: number) => string;
}

const kEmptyShare = 0.1;  // of the axis; with more of it before the first result, the axis begins later
const kPoints = 3000;  // drawn of each, the chosen and the others
const kSlowest = 3;    // times the best that the axis reaches at least, and the default: the end that matters is not squeezed

function bestOf(state: State): BestSoFar | undefined {
  const { group } = state;
  return state.report.best_so_far.find((each) => each.problem === group?.problem && each.method === group.method);
}

// Of the axis of the time; how many variants are too slow for it.
interface Scale {
  readonly min: number;
  readonly max: number;
  readonly slower: number;
}

function scaleOf(group: Group, best: BestSoFar): Scale {
  const fallback = best.default_ns ?? NaN;
  const all = logRange([...group.ranked.values, fallback]);
  if (all === null) return { min: 1, max: 10, slower: 0 };
  const near = logRange([kSlowest * group.fastest_ns, 1.1 * fallback], 1);
  if (near === null || all.max <= near.max) return { ...all, slower: 0 };
  const slower = group.ranked.values.reduce((count, time) => count + (time > near.max ? 1 : 0), 0);
  return slower === 0 ? { ...all, slower } : { min: all.min, max: near.max, slower };
}

// "3x the best"
function endText(group: Group, scale: Scale): string {
  return `${shortNumber(scale.max / group.fastest_ns)}x the best`;
}

// The line of the best so far: a corner at each step, to the end of the axis.
function stepLine(best: BestSoFar, along: Along): readonly (readonly [number, number])[] {
  const corners: [number, number][] = [];
  let last: number | null = null;
  for (const step of best.steps) {
    const x = along.place(step);
    if (x === null) continue;
    if (last !== null) corners.push([x, last]);
    corners.push([x, step.best_ns]);
    last = step.best_ns;
  }
  const end = along.end(best);
  if (last !== null && end !== null) corners.push([end, last]);
  return corners;
}

// Where the axis begins: just before the first result, rounded to what an axis would label, and at 0 where little is empty.
export function axisStart(first: number, end: number): number {
  if (!(first > kEmptyShare * end)) return 0;
  const step = 10 ** Math.floor(Math.log10((end - first) / 4 || first));
  return Math.floor(first / step) * step;
}

function startOf(best: BestSoFar, along: Along): number {
  const [first] = best.steps;
  const place = first === undefined ? null : along.place(first);
  const end = along.end(best);
  return place === null || end === null ? 0 : axisStart(place, end);
}

function evaluationsChart(state: State, along: Along): ChartFigure {
  let drawn: readonly (readonly number[])[] = [];  // the rows of each series of points
  let samples: readonly Sample[] = [];
  let brushed: Box | null = null;

  function points(theme: Theme): readonly object[] {
    const { group, selection } = state;
    const best = bestOf(state);
    const column = along.column(state);
    if (group === null || column === null || best === undefined) return [];
    const { max } = scaleOf(group, best);
    const plotted = (row: number) => (group.ranked.values[row] ?? NaN) <= max && !Number.isNaN(column.values[row] ?? NaN);
    const chosen = sample(group, kPoints, (row) => plotted(row) && selection.mask[row] === 1);
    const others = sample(group, kPoints, (row) => plotted(row) && selection.mask[row] !== 1);
    samples = [chosen, others];
    const data = (rows: readonly number[]) => rows.map((row) => [column.values[row], group.ranked.values[row]]);
    const designs = group.design.labels.slice(0, kSymbols.length);
    const byDesign = designs.map((_, i) =>
      chosen.rows.filter((row) => Math.min(group.design.codes[row] ?? 0, designs.length - 1) === i));
    const focus = selection.focus !== null && plotted(selection.focus) ? [selection.focus] : [];
    drawn = [others.rows, ...byDesign, focus];
    return [
      { id: 'others', data: data(others.rows), itemStyle: { color: theme.muted, opacity: 0.18 } },
      ...designs.map((name, i) => ({
        id: `design-${i}`, name: label(name, 24), data: data(byDesign[i] ?? []), symbol: kSymbols[i],
        itemStyle: { color: theme.series[i], opacity: 0.65 },
      })),
      {
        id: 'focus', data: data(focus), symbolSize: 13, z: 5,
        itemStyle: { color: 'transparent', borderColor: theme.text, borderWidth: 2 },
      },
    ];
  }

  function option(theme: Theme, width: number): ChartOption {
    const { group } = state;
    const best = bestOf(state);
    const column = along.column(state);
    if (group === null || column === null || best === undefined) return {};
    const scale = scaleOf(group, best);
    const end = scale.slower === 0 ? '' : `, up to ${endText(group, scale)}`;
    const designs = group.design.labels.slice(0, kSymbols.length);
    const line = stepLine(best, along);
    const names = ['best so far', ...designs.map((name) => label(name, 24))];
    const fallback = best.default_ns;
    const fixed = [{
      id: 'best', name: 'best so far', type: 'line', data: line, symbol: 'none', z: 4,
      lineStyle: { color: theme.text, width: 2 }, itemStyle: { color: theme.text },
      ...(fallback === null ? {} : {
        markLine: {
          silent: true, symbol: 'none', data: [{ yAxis: fallback }],
          lineStyle: { color: theme.muted, type: 'dashed' },
          label: { formatter: 'default', color: theme.text, position: 'insideEndTop', textBorderColor: theme.ground, textBorderWidth: 3 },
        },
      }),
    }];
    const scatter = ['others', ...designs.map((_, i) => `design-${i}`), 'focus'].map((id) =>
      ({ id, type: 'scatter', symbolSize: 5, large: true, largeThreshold: 500, data: [] }));
    return {
      grid: { left: 76, right: 24, top: 56 + legendWraps(names, width), bottom: 48 },
      legend: legend(theme, names),
      tooltip: tooltip(theme, ({ seriesIndex, dataIndex }) => describe(seriesIndex, dataIndex)),
      xAxis: numberAxis(theme, { name: along.axis, format: along.text, min: startOf(best, along) }),
      yAxis: logAxis(theme, { name: timeName(group.emulation) + end, format: timeTick, vertical: true, min: scale.min, max: scale.max }),
      brush: {
        toolbox: [], xAxisIndex: 0, yAxisIndex: 0, transformable: true, outOfBrush: {}, inBrush: {},
        brushStyle: { borderWidth: 1, color: 'rgba(128, 128, 128, 0.15)', borderColor: theme.accent },
      },
      series: [...scatter, ...fixed],
    };
  }

  function describe(series: number, index: number): string {
    const { group } = state;
    const row = drawn[series]?.[index];
    if (group === null || row === undefined) return '';
    const place = along.text(along.column(state)?.values[row] ?? NaN);
    return `${shortLabel(group, row)}\n${along.axis} ${place}\n${wrapped(state.variant(row))}`;
  }

  // A click without a drag leaves no area: that takes the choice back.
  function brush(event: unknown): void {
    const column = along.column(state);
    if (column === null) return;
    const box = boxOf(event);
    brushed = box;
    state.selection.set(new Map<string, Constraint | null>([
      [column.key, box && { kind: 'range', ...box.x }],
      [kTimeKey, box && { kind: 'range', ...box.y }],
    ]));
  }

  function showBox(chart: Chart): void {
    const areas = brushed === null ? [] : [{
      brushType: 'rect', xAxisIndex: 0, yAxisIndex: 0,
      coordRange: [[brushed.x.low, brushed.x.high], [brushed.y.low, brushed.y.high]],
    }];
    chart.dispatchAction({ type: 'brush', areas });
  }

  function listen(chart: Chart): void {
    chart.on('brushEnd', brush);
    chart.on('click', (event: unknown) => {
      if (isHovered(event)) state.selection.look(drawn[event.seriesIndex]?.[event.dataIndex] ?? null);
    });
    // The choice was taken back elsewhere: its box goes too.
    state.selection.listen(() => {
      const key = along.column(state)?.key;
      if (brushed === null || (key !== undefined && state.selection.get(key) !== undefined)) return;
      brushed = null;
      showBox(chart);
    });
  }

  return new ChartFigure({
    title: along.title,
    height: 340,
    option,
    mark: (theme) => ({ series: points(theme) }),
    made: listen,
    drawn: (chart) => {
      chart.dispatchAction({ type: 'takeGlobalCursor', key: 'brush', brushOption: { brushType: 'rect', brushMode: 'single' } });
      if (brushed !== null) showBox(chart);
    },
    summary: () => {
      const best = bestOf(state);
      const last = best?.steps.at(-1);
      const sentence = best === undefined || last === undefined ? '' :
        `${countText(best.evaluations)} evaluation${best.evaluations === 1 ? '' : 's'}; the best, ${timeText(last.best_ns)}, was the ${ordinal(last.evaluation)}. `;
      const scale = best === undefined || state.group === null ? null : scaleOf(state.group, best);
      const slower = scale === null || scale.slower === 0 || state.group === null ? '' :
        `Not drawn: ${counted(scale.slower, 'variant')} that took more than ${endText(state.group, scale)}. `;
      const start = best === undefined ? 0 : startOf(best, along);
      const begins = start === 0 ? '' : `The axis begins at ${along.text(start)}: nothing was timed before. `;
      return `${sentence}${begins}${slower}Drag a box to choose variants. ${sampleText(...samples)}`;
    },
    table: () => {
      const name = timeName(state.group?.emulation ?? false);
      return plainTable({ caption: 'Where the best so far got better' }, bestOf(state)?.steps ?? [], [
        { title: 'evaluation', number: true, text: (step) => countText(step.evaluation), order: (step) => step.evaluation },
        { title: 'seconds', number: true, text: (step) => step.seconds?.toFixed(1) ?? '', order: (step) => step.seconds ?? NaN },
        { title: name, number: true, text: (step) => timeText(step.best_ns), order: (step) => step.best_ns },
        { title: 'variant', text: (step) => variantOf(state, step.row) },
      ]);
    },
  });
}

function variantOf(state: State, globalRow: number): string {
  const row = state.group === null ? null : groupRow(state.report, state.group, globalRow);
  return row === null ? '' : state.variant(row);
}

export function progressView(state: State): View {
  const byEvaluation = evaluationsChart(state, {
    title: 'Best so far, against evaluations', axis: 'evaluation', column: () => state.group?.order ?? null,
    place: (step) => step.evaluation, end: (best) => best.evaluations, text: countText,
  });
  const byTime = evaluationsChart(state, {
    title: 'Best so far, against time', axis: 'seconds since the start', column: () => state.group?.seconds ?? null,
    place: (step) => step.seconds, end: (best) => best.seconds, text: durationText,
  });
  const section = new Section('progress', 'How the search went', el('div', { class: 'pair' }, byEvaluation.element, byTime.element));
  const charts = [byEvaluation, byTime];
  for (const chart of charts) state.selection.listen(() => chart.mark());
  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'best_so_far')) return;
      const best = bestOf(state);
      if (best === undefined || !best.order_known) {
        section.note('In which order the variants of this problem were evaluated is not known: they were imported, or none has a time.');
        return;
      }
      byTime.element.hidden = best.seconds === null;
      for (const chart of charts) chart.update();
    },
  };
}
