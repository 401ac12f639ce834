// Time against problem size, and where the runtime changes from one variant to another.

import { Chooser, el, fill } from '../dom';
import { bytesText, counted, rateText, shortNumber, speedText, timeName, timeText, timeTick } from '../format';
import { at } from '../group';
import type { Sizes } from '../report';
import type { State, View } from '../state';
import { plainTable } from '../table';
import type { Theme } from '../theme';
import { facts, Section } from '../views/section';
import type { Chart, ChartOption } from './echarts';
import { ChartFigure } from './figure';
import { isHovered, legend, logAxis, logRange, tooltip, wrapped } from './parts';

type Point = Sizes['points'][number];

function dispatched(sizes: Sizes): readonly string[] {
  return [...new Set(sizes.points.map((each) => each.variant))];
}

function sizesChart(state: State, shown: () => Sizes | null): ChartFigure {
  const emulation = () => at(state.report.gpus, shown()?.gpu ?? 0).emulation;

  function option(theme: Theme): ChartOption {
    const sizes = shown();
    if (sizes === null) return {};
    const { points } = sizes;
    const variants = dispatched(sizes);
    const x = logRange([...points.map((each) => each.size), ...sizes.boundaries.map((each) => each.at)], 1.3);
    const y = logRange(points.flatMap((each) => [each.time_ns, each.default_ns ?? NaN, each.copy_ns ?? NaN]), 1.3);
    if (x === null || y === null) return {};
    const line = (name: string, value: (each: Point) => number | null, style: object, symbol: string, color: string | undefined) => ({
      name, type: 'line', symbol, symbolSize: 8, lineStyle: { color, width: isAlike(sizes) ? 2 : 0, ...style }, itemStyle: { color },
      data: points.map((each) => [each.size, value(each) ?? NaN]),
    });
    return {
      grid: { left: 76, right: 28, top: 56, bottom: 52 },
      legend: legend(theme, ['pick', 'default', 'copy of as many bytes']),
      tooltip: tooltip(theme, ({ dataIndex }) => describe(points[dataIndex])),
      xAxis: logAxis(theme, { name: sizes.dim === 'bytes' ? 'bytes that must move' : sizes.dim, format: sizes.dim === 'bytes' ? (value) => rateText(value, 'B') : shortNumber, ...x }),
      yAxis: logAxis(theme, { name: timeName(emulation()), format: timeTick, vertical: true, ...y }),
      series: [
        {
          ...line('pick', (each) => each.time_ns, {}, 'circle', theme.series[0]), z: 5,
          labelLayout: { hideOverlap: true },
          label: {
            show: isAlike(sizes), position: 'right', distance: 8, color: theme.text, textBorderColor: theme.ground, textBorderWidth: 3,
            formatter: ({ dataIndex }: { dataIndex: number }) => number(variants.indexOf(points[dataIndex]?.variant ?? '')),
          },
          markLine: {
            silent: true, symbol: 'none', lineStyle: { color: theme.accent, type: 'dotted', width: 1.5 },
            label: {
              color: theme.muted, position: 'end', rotate: 0, formatter: ({ dataIndex }: { dataIndex: number }) => boundaryName(sizes, variants, dataIndex),
            },
            data: isAlike(sizes) ? sizes.boundaries.map((each) => ({ xAxis: each.at })) : [],
          },
        },
        line('default', (each) => each.default_ns, { type: 'dashed' }, 'rect', theme.series[1]),
        line('copy of as many bytes', (each) => each.copy_ns, { type: 'dotted' }, 'triangle', theme.series[2]),
        ...points.filter((each) => each.low_ns !== null && each.high_ns !== null).map((each) => ({
          type: 'line', symbol: 'none', silent: true, lineStyle: { color: theme.series[0], width: 2 },
          data: [[each.size, each.low_ns], [each.size, each.high_ns]],
        })),
      ],
    };
  }

  function describe(point: Point | undefined): string {
    if (point === undefined) return '';
    const gain = point.default_ns === null ? '' : `, default ${timeText(point.default_ns)} (${speedText(point.default_ns / point.time_ns)})`;
    const copy = point.copy_ns === null ? '' : `\na copy of as many bytes takes ${timeText(point.copy_ns)}`;
    return `${at(state.report.problems, point.problem).problem}\npick ${timeText(point.time_ns)}${gain}${copy}\n${wrapped(point.variant)}`;
  }

  return new ChartFigure({
    title: 'Time against problem size',
    height: 380,
    option,
    made: (chart: Chart) => chart.on('click', (event: unknown) => {
      const point = isHovered(event) ? shown()?.points[event.dataIndex] : undefined;
      if (point !== undefined) state.chooseProblem(point.problem, shown()?.method ?? -1);
    }),
    summary: () => {
      const sizes = shown();
      if (sizes === null) return '';
      const count = dispatched(sizes).length;
      const changes = isAlike(sizes) && sizes.boundaries.length > 0
        ? ` Dotted lines: where the runtime changes from one variant to the next.` : '';
      return `${count === 1 ? 'One variant serves' : `${count} variants serve`} ${counted(sizes.points.length, 'size')}.${changes}`;
    },
    table: () => plainTable({ caption: 'Time against problem size' }, shown()?.points ?? [], [
      { title: shown()?.dim ?? 'size', number: true, text: (each) => (shown()?.dim === 'bytes' ? bytesText(each.size) : shortNumber(each.size)), order: (each) => each.size },
      { title: 'problem', text: (each) => at(state.report.problems, each.problem).problem },
      { title: timeName(emulation()), number: true, text: (each) => timeText(each.time_ns), order: (each) => each.time_ns },
      { title: 'default', number: true, text: (each) => (each.default_ns === null ? '' : timeText(each.default_ns)), order: (each) => each.default_ns ?? NaN },
      { title: 'copy', number: true, text: (each) => (each.copy_ns === null ? '' : timeText(each.copy_ns)), order: (each) => each.copy_ns ?? NaN },
      { title: 'variant', text: (each) => each.variant },
    ]),
  });
}

// Problems that differ in one dim only are joined by a line. Those that only move different numbers of bytes are not alike.
function isAlike(sizes: Sizes): boolean {
  return sizes.dim !== 'bytes';
}

// Variants that serve several sizes have numbers: letters are of the problem in sight.
function number(place: number): string {
  return String(place + 1);
}

function boundaryName(sizes: Sizes, variants: readonly string[], index: number): string {
  const boundary = sizes.boundaries[index];
  if (boundary === undefined) return '';
  return `${number(variants.indexOf(boundary.below))} | ${number(variants.indexOf(boundary.above))}`;
}

function sizesLabel(state: State, sizes: Sizes): string {
  const fixed = [...sizes.fixed].map(([name, value]) => `${name}=${value}`).join(' ');
  const over = sizes.dim === 'bytes' ? 'all problems, by bytes' : `over ${sizes.dim}`;
  const gpu = at(state.report.gpus, sizes.gpu).model;
  return `${sizes.operator} ${fixed === '' ? '' : `${fixed} `}${over} (${gpu}, ${state.report.methods[sizes.method]?.name ?? ''})`;
}

export function sizesView(state: State): View {
  let index = 0;
  const shown = () => state.report.sizes[index] ?? null;
  const chart = sizesChart(state, shown);
  const series = new Chooser('Series', (value) => {
    index = Number(value);
    draw();
  });
  const served = el('div');
  const section = new Section('sizes', 'Time against problem size', el('div', { class: 'controls' }, series.element), chart.element, served);
  const draw = () => {
    const sizes = shown();
    chart.update();
    fill(served, sizes !== null && facts(...dispatched(sizes).map((variant, i) =>
      [number(i), el('code', {}, variant)] as const)));
  };
  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'sizes')) return;
      const { report, group } = state;
      // The longest series that the problem in sight is part of.
      const lengths = report.sizes.map((each) =>
        (each.method === group?.method && each.points.some((point) => point.problem === group.problem) ? each.points.length : 0)
        + (each.dim === 'bytes' ? 0 : 0.5));
      index = Math.max(0, lengths.indexOf(Math.max(...lengths)));
      const choices = report.sizes.map((each, i) => ({ value: String(i), text: sizesLabel(state, each) }));
      series.offer(choices, String(index));
      draw();
    },
  };
}
