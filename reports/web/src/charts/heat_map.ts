// The fastest variant for each pair of values of two parameters. Clicking a cell chooses its variants.

import { button, type Child, el } from '../dom';
import { type CategoryColumn, kAbsent, kNoLabel } from '../columns';
import { counted, ratioText, timeName, timeText } from '../format';
import type { Group } from '../group';
import type { State, View } from '../state';
import { allRows, Table } from '../table';
import { inkOn, kShades, rampColor, type Theme } from '../theme';
import { kTimeKey } from '../group';
import type { Constraint } from '../constraints';
import type { Chart, ChartOption } from './echarts';
import { ChartFigure } from './figure';
import { categoryAxis, isHovered, label, tooltip } from './parts';

export interface Cell {
  readonly x: number;
  readonly y: number;
  count: number;
  best_ns: number;
}

export interface Axes {
  readonly x: CategoryColumn;
  readonly y: CategoryColumn;
}

// Only pairs that occur among the ranked variants of the mask.
export function heatCells(group: Group, { x, y }: Axes, mask: Uint8Array): readonly Cell[] {
  const cells = new Map<number, Cell>();
  for (let row = 0; row < group.rows; ++row) {
    const time = group.ranked.values[row] ?? NaN;
    const i = x.codes[row] ?? kAbsent;
    const j = y.codes[row] ?? kAbsent;
    if (mask[row] !== 1 || Number.isNaN(time) || i === kAbsent || j === kAbsent) continue;
    const key = j * x.labels.length + i;
    const cell = cells.get(key);
    if (cell === undefined) cells.set(key, { x: i, y: j, count: 1, best_ns: time });
    else {
      ++cell.count;
      if (time < cell.best_ns) cell.best_ns = time;
    }
  }
  return [...cells.values()];
}

// The slowdown at which the colours end: they tell apart what is close to the best, or show all of the range.
export const kHeatEnds: readonly number[] = [1.1, 3];

// 0 for the fastest, 1 for `end` and beyond, in the logarithm.
export function shade(slowdown: number, end: number): number {
  return Math.min(1, Math.log(slowdown) / Math.log(end));
}

export function rampLegend(end: () => number): View {
  const shades = Array.from({ length: kShades }, () => el('i'));
  const words = el('span');
  return {
    element: el('span', { class: 'ramp' }, 'the fastest', ...shades, words),
    update: () => (words.textContent = `${ratioText(end())} its time and more`),
  };
}

export function heatMapChart(state: State, axes: () => Axes | null, end: () => number): ChartFigure {
  let cells: readonly Cell[] = [];

  // The two parameters keep their values in sight, chosen or not; the other constraints hold.
  function compute(): Axes | null {
    const pair = axes();
    const { group } = state;
    if (group === null || pair === null) {
      cells = [];
      return null;
    }
    cells = heatCells(group, pair, state.selection.maskWithout([pair.x.key, pair.y.key]));
    return pair;
  }

  const slowdown = (cell: Cell) => cell.best_ns / (state.group?.fastest_ns ?? NaN);

  function isChosen(cell: Cell, pair: Axes): boolean {
    const allows = (column: CategoryColumn, code: number) => {
      const constraint = state.selection.get(column.key);
      return constraint?.kind !== 'values' || constraint.labels.has(column.labels[code] ?? kNoLabel);
    };
    return allows(pair.x, cell.x) && allows(pair.y, cell.y);
  }

  function choose(cell: Cell): void {
    const pair = axes();
    if (pair === null) return;
    const wish = (column: CategoryColumn, code: number): [string, Constraint] =>
      [column.key, { kind: 'values', labels: new Set([column.labels[code] ?? kNoLabel]) }];
    const [x, y] = [wish(pair.x, cell.x), wish(pair.y, cell.y)];
    const already = [x, y].every(([key]) => {
      const constraint = state.selection.get(key);
      return constraint?.kind === 'values' && constraint.labels.size === 1;
    }) && isChosen(cell, pair);
    state.selection.set(new Map<string, Constraint | null>(already ? [[x[0], null], [y[0], null]] : [x, y]));
  }

  function option(theme: Theme, width: number): ChartOption {
    const pair = compute();
    if (pair === null) return {};
    return {
      grid: { left: 120, right: 24, top: 28, bottom: 52 },
      tooltip: tooltip(theme, ({ dataIndex }) => describe(dataIndex)),
      xAxis: { ...categoryAxis(theme, label(pair.x.title), pair.x.labels), splitArea: { show: false } },
      yAxis: categoryAxis(theme, label(pair.y.title), pair.y.labels, true),
      series: [{ id: 'cells', type: 'heatmap', label: { show: (width - 144) / pair.x.labels.length > 50, fontSize: 11 }, data: [] }],
    };
  }

  function mark(theme: Theme): ChartOption {
    const pair = compute();
    if (pair === null) return {};
    const data = cells.map((cell) => {
      const color = rampColor(theme, shade(slowdown(cell), end()));
      const chosen = isChosen(cell, pair);
      return {
        value: [cell.x, cell.y, cell.best_ns],
        itemStyle: {
          color, opacity: chosen ? 1 : 0.25,
          borderWidth: 1, borderColor: theme.ground,
        },
        label: { formatter: cellText(slowdown(cell)), color: chosen ? inkOn(color) : theme.text },
      };
    });
    return { series: [{ id: 'cells', data }] };
  }

  function describe(index: number): string {
    const cell = cells[index];
    const pair = axes();
    if (cell === undefined || pair === null) return '';
    return `${cellName(pair, cell)}\n${timeText(cell.best_ns)}, ${ratioText(slowdown(cell))} the fastest\n${counted(cell.count, 'variant')}`;
  }

  return new ChartFigure({
    title: 'The fastest for each pair of values',
    height: 380,
    option,
    mark,
    made: (chart: Chart) => chart.on('click', (event: unknown) => {
      const cell = isHovered(event) ? cells[event.dataIndex] : undefined;
      if (cell !== undefined) choose(cell);
    }),
    summary: () => {
      const pair = compute();
      const best = cells.reduce<Cell | null>((least, cell) => (least === null || cell.best_ns < least.best_ns ? cell : least), null);
      if (pair === null || best === null) return 'No variant with a time is chosen.';
      return `Fastest at ${cellName(pair, best)}: ${timeText(best.best_ns)}. Each cell is the time of its fastest variant over the `
        + `problem's fastest. Click a cell to choose its variants.`;
    },
    table: () => heatTable(state, axes(), cells, choose),
  });
}

// As many digits as tell close cells apart: "1.004x", "2.31x".
function cellText(slowdown: number): string {
  return slowdown < 1.1 ? `${slowdown.toFixed(3)}x` : ratioText(slowdown);
}

function cellName({ x, y }: Axes, cell: Cell): string {
  return `${label(x.title)}=${label(x.labels[cell.x] ?? '')} ${label(y.title)}=${label(y.labels[cell.y] ?? '')}`;
}

// The same cells as rows, the fastest first, each with a button that chooses it.
function heatTable(
  state: State, pair: Axes | null, cells: readonly Cell[], choose: (cell: Cell) => void,
): HTMLElement {
  if (pair === null) return el('p', {}, 'Nothing to show.');
  const sorted = [...cells].sort((a, b) => a.best_ns - b.best_ns);
  const item = (row: number) => sorted[row] as Cell;
  const emulation = state.group?.emulation ?? false;
  const chooser = (row: number): Child =>
    button('Choose', { 'aria-label': `Choose ${cellName(pair, item(row))}` }, () => choose(item(row)));
  const table = new Table({ caption: 'The fastest for each pair of values' });
  table.set([
    { key: 'x', title: pair.x.title, text: (row) => pair.x.labels[item(row).x] ?? '', order: (row) => item(row).x },
    { key: 'y', title: pair.y.title, text: (row) => pair.y.labels[item(row).y] ?? '', order: (row) => item(row).y },
    { key: kTimeKey, title: timeName(emulation), number: true, text: (row) => timeText(item(row).best_ns), order: (row) => item(row).best_ns },
    { key: 'count', title: 'variants', number: true, text: (row) => String(item(row).count), order: (row) => item(row).count },
    { key: 'choose', title: 'which', text: () => 'Choose', cell: chooser },
  ], allRows(sorted.length));
  return table.element;
}
