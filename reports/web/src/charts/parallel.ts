// Parallel coordinates: one axis for each parameter with more than one value, and the time. Dragging along an
// axis chooses a range of it.

import { type CategoryColumn, kAbsent, kNoLabel } from '../columns';
import type { Constraint } from '../constraints';
import { el } from '../dom';
import { counted, timeName, timeTick } from '../format';
import { type Group, kTimeKey } from '../group';
import { kDefault, kPick } from '../report';
import { type Sample, sample, sampleText } from '../sample';
import type { State } from '../state';
import type { Theme } from '../theme';
import { Bundle } from './bundle';
import type { Chart, ChartOption } from './echarts';
import { ChartFigure } from './figure';
import { type Interval, isInterval, label, logRange, logTicks } from './parts';

const kChosenLines = 1500;  // drawn at most
const kOtherLines = 500;
const kWhileDragging = 0.15;  // of them, so that the lines follow the pointer
const kRestMs = 180;          // without a movement before all of them are drawn
const kOtherOpacity = 0.08;
const kBestShare = 0.05;
const kMostAxes = 14;
const kLeastGap = 56;  // px between two axes: less, and the values of one lie over the next axis
const kNamedGap = 120;  // less, and the names of the axes are turned

// The frame of the axes, px.
const kLeft = 56;
const kRight = 104;
const kTop = 92;
const kBottom = 24;
const kHeight = 440;

// The parameters that vary.
export function variedParameters(group: Group): readonly CategoryColumn[] {
  return group.parameters.filter((column) => {
    const first = column.codes[0];
    return column.labels.length > 0 && column.codes.some((code) => code !== first);
  });
}

interface Axis {
  readonly column: CategoryColumn;
  readonly labels: readonly string[];  // of the column, and kNoLabel where some variants have none
}

export function parallelChart(state: State, table: () => HTMLElement): ChartFigure {
  let axes: readonly Axis[] = [];
  let samples: readonly Sample[] = [];
  let chart: Chart | null = null;
  let bundle: Bundle | null = null;
  let range = { min: 1, max: 10 };
  let dragging = false;
  let resting = 0;
  // What the axes' own boxes ask for. A constraint on the same column that is another one, or none, was set
  // elsewhere, and the box goes.
  const brushed = new Map<string, { readonly constraint: Constraint; readonly intervals: readonly Interval[] }>();

  function layOut(group: Group): void {
    axes = variedParameters(group).slice(0, kMostAxes).map((column) => ({
      column, labels: column.codes.includes(kAbsent) ? [...column.labels, kNoLabel] : column.labels,
    }));
  }

  const isTimed = (row: number) => !Number.isNaN(state.group?.ranked.values[row] ?? NaN);

  function option(theme: Theme, width: number): ChartOption {
    const { group } = state;
    if (group === null) return {};
    layOut(group);
    range = logRange(group.ranked.values, 1.02) ?? { min: 1, max: 10 };
    const ticks = logTicks(range.min, range.max);
    const isTight = (width - kLeft - kRight) / Math.max(1, axes.length) < kNamedGap;
    const categories = axes.map(({ column, labels }, dim) => ({
      id: axisId(dim), dim, name: label(column.title, 22), type: 'category',
      axisTick: { show: false },
      data: labels.map((each) => (each === kNoLabel ? '–' : label(each, isTight ? 8 : 16))),
    }));
    const time = {
      id: axisId(axes.length), dim: axes.length, name: timeName(group.emulation), type: 'log', ...range,
      axisLabel: { customValues: ticks, formatter: timeTick, color: theme.text },
      axisTick: { customValues: ticks },
    };
    return {
      parallel: {
        left: kLeft, right: kRight, top: kTop, bottom: kBottom,
        parallelAxisDefault: {
          nameLocation: 'end', nameGap: 14, nameTruncate: { maxWidth: 150 }, nameRotate: isTight ? 25 : 0,
          nameTextStyle: { color: theme.text, fontSize: 12, align: isTight ? 'left' : 'center' },
          axisLine: { lineStyle: { color: theme.muted } }, axisTick: { lineStyle: { color: theme.muted } },
          axisLabel: { color: theme.text, textBorderColor: theme.ground, textBorderWidth: 3 },
          areaSelectStyle: { width: 18, borderWidth: 1, borderColor: theme.accent, color: theme.accent, opacity: 0.25 },
        },
      },
      parallelAxis: [...categories, time],
    };
  }

  // "" when all parameters that vary have an axis.
  function cutText(): string {
    const varied = state.group === null ? 0 : variedParameters(state.group).length;
    return varied > axes.length ? `Axes: the first ${axes.length} of ${varied} parameters that vary. ` : '';
  }

  // Where a row crosses each axis: in the middle of its value's band, or in the logarithm of its time.
  function crossings(row: number): readonly number[] {
    const height = kHeight - kTop - kBottom;
    const values = axes.map(({ column, labels }) => {
      const code = column.codes[row] ?? kAbsent;
      return ((code === kAbsent ? labels.length - 1 : code) + 0.5) / labels.length;
    });
    const time = state.group?.ranked.values[row] ?? NaN;
    values.push(Math.log(time / range.min) / Math.log(range.max / range.min));
    return values.map((part) => kTop + (1 - part) * height);
  }

  function paint(theme: Theme, width: number): void {
    const { group, selection } = state;
    if (group === null || bundle === null) return;
    const share = dragging ? kWhileDragging : 1;
    const chosen = sample(group, kChosenLines * share, (row) => isTimed(row) && selection.mask[row] === 1);
    const others = sample(group, kOtherLines * share, (row) => isTimed(row) && selection.mask[row] !== 1);
    samples = [chosen, others];
    dropForeignBoxes();
    const x = Array.from({ length: axes.length + 1 }, (_, i) => kLeft + (i * (width - kLeft - kRight)) / Math.max(1, axes.length));
    bundle.clear();
    bundle.add(x, others.rows.map(crossings), { color: theme.muted, width: 1, opacity: kOtherOpacity });
    const limit = bestLimit(group);
    const isBest = (row: number) => (group.ranked.values[row] ?? NaN) <= limit;
    const marked = (bit: number) => chosen.rows.filter((row) => ((group.flags[row] ?? 0) & bit) !== 0).map(crossings);
    const rest = chosen.rows.filter((row) => !isBest(row));
    bundle.add(x, rest.map(crossings), { color: theme.line, width: 1, opacity: 0.8 });
    bundle.add(x, chosen.rows.filter(isBest).map(crossings), { color: theme.series[4] ?? theme.accent, width: 1.2, opacity: 0.6 });
    bundle.add(x, marked(kDefault), { color: theme.series[1] ?? theme.text, width: 2.5, opacity: 1 });
    bundle.add(x, marked(kPick), { color: theme.series[0] ?? theme.text, width: 3.5, opacity: 1 });
    const focus = selection.focus !== null && isTimed(selection.focus) ? [crossings(selection.focus)] : [];
    bundle.add(x, focus, { color: theme.text, width: 3, opacity: 1 });
  }

  function dropForeignBoxes(): void {
    for (const [key, { constraint }] of brushed) {
      if (state.selection.get(key) === constraint) continue;
      brushed.delete(key);
      setBox(key, []);
    }
  }

  function setBox(key: string, intervals: readonly Interval[]): void {
    const index = key === kTimeKey ? axes.length : axes.findIndex((axis) => axis.column.key === key);
    chart?.dispatchAction({ type: 'axisAreaSelect', parallelAxisId: axisId(index), intervals: intervals.map(({ low, high }) => [low, high]) });
  }

  // A box on an axis was drawn, moved or taken away.
  function brush(event: unknown): void {
    const area = areaOf(event);
    if (area === null) return;
    const key = area.axis === axisId(axes.length) ? kTimeKey : (axes.find((_, i) => axisId(i) === area.axis)?.column.key ?? '');
    if (key === '') return;
    const wish = constraintOf(axes.find((axis) => axis.column.key === key), area.intervals);
    if (same(wish, brushed.get(key)?.constraint)) return;
    dragging = true;
    window.clearTimeout(resting);
    resting = window.setTimeout(() => {
      dragging = false;
      figure.mark();
    }, kRestMs);
    if (wish === null) brushed.delete(key);
    else brushed.set(key, { constraint: wish, intervals: area.intervals });
    state.selection.setOne(key, wish);
  }

  const figure = new ChartFigure({
    title: 'All parameters and the time',
    height: kHeight,
    least: () => (state.group === null ? 0 : kLeft + kRight + kLeastGap * Math.min(kMostAxes, variedParameters(state.group).length)),
    option,
    paint,
    made: (made) => {
      chart = made;
      bundle = new Bundle(made);
      made.on('axisareaselected', brush);
    },
    summary: () => `${state.selection.active ? `${counted(state.selection.count, 'variant')} chosen` : `All ${counted(state.selection.count, 'variant')}`}. Drag along an axis to choose a range of it, click it to take that back. `
      + `${cutText()}${sampleText(...samples)}`,
    drawn: () => brushed.forEach(({ intervals }, key) => setBox(key, intervals)),
    table,
  });
  return figure;
}

// The time of the slowest of the best 5 %.
function bestLimit(group: Group): number {
  const times = group.ranked.values.filter((time) => !Number.isNaN(time)).sort();
  return times[Math.floor(kBestShare * times.length)] ?? NaN;
}

// What the colours of the lines mean.
export function lineLegend(): HTMLElement {
  const kinds = ['pick', 'default', 'best'] as const;
  const names = { pick: 'pick', default: 'default', best: 'the best 5 %' } as const;
  return el('span', { class: 'lines' }, ...kinds.flatMap((kind) => [el('i', { class: kind }), `${names[kind]} `]), el('i', { class: 'rest' }), 'the others');
}

function axisId(dim: number): string {
  return `axis-${dim}`;
}

function areaOf(event: unknown): { readonly axis: string; readonly intervals: readonly Interval[] } | null {
  if (typeof event !== 'object' || event === null || !('parallelAxisId' in event) || !('intervals' in event)) return null;
  if (typeof event.parallelAxisId !== 'string' || !Array.isArray(event.intervals)) return null;
  const intervals = event.intervals.filter(isInterval).map(([a, b]) => ({ low: Math.min(a, b), high: Math.max(a, b) }));
  return { axis: event.parallelAxisId, intervals };
}

function constraintOf(axis: Axis | undefined, intervals: readonly Interval[]): Constraint | null {
  const [first] = intervals;
  if (first === undefined) return null;
  if (axis === undefined) return { kind: 'range', low: first.low, high: first.high };
  const inside = (place: number) => intervals.some(({ low, high }) => place >= low && place <= high);
  return { kind: 'values', labels: new Set(axis.labels.filter((_, place) => inside(place))) };
}

function same(a: Constraint | null, b: Constraint | undefined): boolean {
  if (a === null || b === undefined) return a === null && b === undefined;
  if (a.kind === 'range' && b.kind === 'range') return a.low === b.low && a.high === b.high;
  return a.kind === 'values' && b.kind === 'values' && a.labels.size === b.labels.size
    && [...a.labels].every((each) => b.labels.has(each));
}
