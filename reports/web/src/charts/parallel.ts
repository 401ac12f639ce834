// Parallel coordinates: one axis for each parameter with more than one value, and the time. Dragging along an
// axis chooses a range of it.

import { type CategoryColumn, kAbsent, kNoLabel } from '../columns';
import type { Constraint } from '../constraints';
import { counted, timeName, timeTick } from '../format';
import { type Group, kTimeKey } from '../group';
import { type Sample, sample, sampleText } from '../sample';
import type { State } from '../state';
import { rampColor, type Theme } from '../theme';
import type { Chart, ChartOption } from './echarts';
import { ChartFigure } from './figure';
import { shade } from './heat_map';
import { type Interval, isInterval, label, logRange, logTicks } from './parts';

const kChosenLines = 1200;  // drawn at most; ECharts takes about 40 us for each
const kOtherLines = 400;
const kOtherOpacity = 0.08;
const kMostAxes = 14;

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
  // What the axes' own boxes ask for. A constraint on the same column that is another one, or none, was set
  // elsewhere, and the box goes.
  const brushed = new Map<string, Constraint>();

  function layOut(group: Group): void {
    axes = variedParameters(group).slice(0, kMostAxes).map((column) => ({
      column, labels: column.codes.includes(kAbsent) ? [...column.labels, kNoLabel] : column.labels,
    }));
  }

  const isTimed = (row: number) => !Number.isNaN(state.group?.ranked.values[row] ?? NaN);

  function option(theme: Theme): ChartOption {
    const { group } = state;
    if (group === null) return {};
    layOut(group);
    brushed.clear();
    const range = logRange(group.ranked.values, 1.02) ?? { min: 1, max: 10 };
    const ticks = logTicks(range.min, range.max);
    const categories = axes.map(({ column, labels }, dim) => ({
      id: axisId(dim), dim, name: label(column.title, 18), type: 'category',
      data: labels.map((each) => (each === kNoLabel ? '–' : label(each, 16))),
    }));
    const time = {
      id: axisId(axes.length), dim: axes.length, name: timeName(group.emulation), type: 'log', ...range,
      axisLabel: { customValues: ticks, formatter: timeTick, color: theme.text },
      axisTick: { customValues: ticks },
    };
    return {
      parallel: {
        left: 56, right: 72, top: 64, bottom: 24,
        parallelAxisDefault: {
          nameLocation: 'end', nameGap: 14, nameRotate: axes.length > 7 ? 20 : 0,
          nameTextStyle: { color: theme.text, fontSize: 12, align: axes.length > 7 ? 'left' : 'center' },
          axisLine: { lineStyle: { color: theme.muted } }, axisTick: { lineStyle: { color: theme.muted } },
          axisLabel: { color: theme.text, textBorderColor: theme.ground, textBorderWidth: 3 },
          areaSelectStyle: { width: 18, borderWidth: 1, borderColor: theme.accent, color: theme.accent, opacity: 0.25 },
        },
      },
      parallelAxis: [...categories, time],
      series: ['others', 'chosen', 'focus'].map((id) => ({
        id, type: 'parallel', data: [], progressive: 0, silent: true,
      })),
    };
  }

  function place({ column, labels }: Axis, row: number): number {
    const code = column.codes[row] ?? kAbsent;
    return code === kAbsent ? labels.length - 1 : code;
  }

  function mark(theme: Theme): ChartOption {
    const { group, selection } = state;
    if (group === null) return {};
    const line = (row: number) => [...axes.map((axis) => place(axis, row)), group.ranked.values[row] ?? NaN];
    const chosen = sample(group, kChosenLines, (row) => isTimed(row) && selection.mask[row] === 1);
    const others = sample(group, kOtherLines, (row) => isTimed(row) && selection.mask[row] !== 1);
    samples = [chosen, others];
    dropForeignBoxes();
    const opacity = Math.min(0.8, Math.max(0.12, 60 / chosen.rows.length));
    // The fastest are drawn last, on top.
    const colored = [...chosen.rows].reverse().map((row) => {
      const slowdown = (group.ranked.values[row] ?? NaN) / group.fastest_ns;
      return { value: line(row), lineStyle: { color: lineColor(theme, shade(slowdown)) } };
    });
    const focus = selection.focus !== null && isTimed(selection.focus) ? [selection.focus] : [];
    return {
      series: [
        { id: 'others', data: others.rows.map(line), ...lines(kOtherOpacity, { color: theme.muted, width: 1 }) },
        { id: 'chosen', data: colored, ...lines(opacity, { width: 1.2 }) },
        { id: 'focus', data: focus.map(line), ...lines(1, { color: theme.text, width: 3 }) },
      ],
    };
  }

  function dropForeignBoxes(): void {
    for (const [key, constraint] of brushed) {
      if (state.selection.get(key) === constraint) continue;
      brushed.delete(key);
      setBox(key, []);
    }
  }

  function setBox(key: string, intervals: readonly (readonly [number, number])[]): void {
    const index = key === kTimeKey ? axes.length : axes.findIndex((axis) => axis.column.key === key);
    chart?.dispatchAction({ type: 'axisAreaSelect', parallelAxisId: axisId(index), intervals: [...intervals] });
  }

  // A box on an axis was drawn, moved or taken away.
  function brush(event: unknown): void {
    const area = areaOf(event);
    if (area === null) return;
    const key = area.axis === axisId(axes.length) ? kTimeKey : (axes.find((_, i) => axisId(i) === area.axis)?.column.key ?? '');
    const wish = constraintOf(axes.find((axis) => axis.column.key === key), area.intervals);
    if (same(wish, brushed.get(key))) return;
    if (wish === null) brushed.delete(key);
    else brushed.set(key, wish);
    state.selection.setOne(key, wish);
  }

  return new ChartFigure({
    title: 'All parameters and the time',
    height: 420,
    option,
    mark,
    made: (made) => {
      chart = made;
      made.on('axisareaselected', brush);
    },
    summary: () => `${counted(state.selection.count, 'variant')} chosen. Drag along an axis to choose a range of it, click it to take that back. `
      + `Bright is fast. ${sampleText(...samples)}`,
    table,
  });
}

// The light end of the ramp is hard to see on a light ground, the dark end on a dark one: both are left out.
function lineColor(theme: Theme, part: number): string {
  return rampColor(theme, 0.08 + 0.84 * part);
}

// What is inside and outside the boxes is drawn as what is chosen and not, whoever chose it: ECharts' own
// difference is switched off.
function lines(opacity: number, style: object): object {
  return { activeOpacity: opacity, inactiveOpacity: opacity, lineStyle: { ...style, opacity } };
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
