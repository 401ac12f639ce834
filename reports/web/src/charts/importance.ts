// How much of the variation of the time each parameter explains, and what each of its values does.

import { percentText, ratioText } from '../format';
import { at } from '../group';
import type { Importance } from '../report';
import type { State } from '../state';
import { plainTable } from '../table';
import type { Theme } from '../theme';
import type { Chart, ChartOption } from './echarts';
import { ChartFigure } from './figure';
import { categoryAxis, isHovered, label, legend, logAxis, logRange, numberAxis, tooltip } from './parts';

export type DesignImportance = Importance['designs'][number];
export type ParameterImportance = DesignImportance['parameters'][number];

// The document's total and main share.
const kAlone = 'changed alone';
const kAverage = 'on average';

// Without this the two shares of a parameter seem to contradict each other.
const kTwoBars = 'Two bars, two questions. Changed alone: how much the time varies while all other parameters stay. On average: how much it varies '
  + 'between the values of the parameter, over all variants. The first is longer where the best value depends on other parameters, the second '
  + 'where values were tried together with good or bad values of others. So neither adds up to 100 %.';

// What the two charts look at; the second shows one parameter of the first.
export interface Looked {
  readonly design: DesignImportance | null;
  readonly parameter: ParameterImportance | null;
}

export function parameterName(state: State, parameter: number): string {
  return state.problem?.parameters[parameter]?.name ?? '';
}

export function sharesChart(state: State, looked: () => Looked, look: (parameter: number) => void): ChartFigure {
  const parameters = () => looked().design?.parameters ?? [];

  function option(theme: Theme): ChartOption {
    const shown = parameters();
    const bars = (name: string, share: (each: ParameterImportance) => number | null, color: string | undefined) => ({
      name, type: 'bar', barGap: '10%', itemStyle: { color }, data: shown.map((each) => share(each) ?? NaN),
    });
    const hasTotal = shown.some((each) => each.total !== null);
    return {
      grid: { left: 150, right: 48, top: 36, bottom: 48 },
      legend: legend(theme, hasTotal ? [kAlone, kAverage] : [kAverage]),
      tooltip: tooltip(theme, ({ dataIndex }) => describe(shown[dataIndex])),
      xAxis: numberAxis(theme, { name: 'share of the variance of log time', format: (value) => percentText(value, 0), min: 0 }),
      yAxis: {
        ...categoryAxis(theme, '', shown.map((each) => parameterName(state, each.parameter)), true), inverse: true, triggerEvent: true,
      },
      series: [
        ...(hasTotal ? [bars(kAlone, (each) => each.total, theme.series[4])] : []),
        bars(kAverage, (each) => each.main, theme.series[0]),
      ],
    };
  }

  function describe(each: ParameterImportance | undefined): string {
    if (each === undefined) return '';
    const total = each.total === null ? 'not known: too few variants differ in nothing else' : percentText(each.total);
    return `${label(parameterName(state, each.parameter))}\n${kAlone}: ${total}\n${kAverage}: ${percentText(each.main)}`;
  }

  return new ChartFigure({
    title: 'How much each parameter matters',
    height: 320,
    option,
    made: (chart: Chart) => chart.on('click', (event: unknown) => {
      const each = isHovered(event) ? parameters()[event.dataIndex] : undefined;
      if (each !== undefined) look(each.parameter);
    }),
    summary: () => {
      const [first] = parameters();
      if (first === undefined) return '';
      const most = `${parameterName(state, first.parameter)} matters most, with ${percentText(first.total ?? first.main, 0)} of the variation of the time `
        + `(${first.total === null ? kAverage : kAlone}).`;
      return first.total === null && parameters().every((each) => each.total === null) ? most : `${most} ${kTwoBars}`;
    },
    table: () => plainTable({ caption: 'Share of the variance of log time' }, parameters(), [
      { title: 'parameter', text: (each) => parameterName(state, each.parameter) },
      { title: kAlone, number: true, text: (each) => (each.total === null ? 'not known' : percentText(each.total)), order: (each) => each.total ?? NaN },
      { title: kAverage, number: true, text: (each) => percentText(each.main), order: (each) => each.main },
    ]),
  });
}

export function effectsChart(state: State, looked: () => Looked): ChartFigure {
  const effects = () => looked().parameter?.effects ?? [];
  const name = () => parameterName(state, looked().parameter?.parameter ?? -1);
  const value = (index: number) =>
    state.problem?.parameters[looked().parameter?.parameter ?? -1]?.values[index] ?? '';

  function option(theme: Theme): ChartOption {
    const shown = effects();
    const range = logRange([...shown.flatMap((each) => [each.low, each.high, each.ratio, each.best_ratio]), 1], 1.05);
    if (range === null) return {};
    const color = theme.series[0];
    return {
      grid: { left: 66, right: 24, top: 56, bottom: 48 },
      legend: legend(theme, ['all with this value', 'the fastest with it']),
      tooltip: tooltip(theme, ({ dataIndex }) => describe(dataIndex)),
      xAxis: categoryAxis(theme, label(name()), shown.map((each) => value(each.value))),
      yAxis: logAxis(theme, { name: 'time, over the mean or the fastest', format: ratioText, vertical: true, ...range }),
      series: [
        {
          name: 'all with this value', type: 'scatter', symbolSize: 11, itemStyle: { color },
          data: shown.map((each, i) => [i, each.ratio]),
          markLine: {
            silent: true, symbol: 'none', lineStyle: { color: theme.muted, type: 'dashed' }, label: { show: false },
            data: [{ yAxis: 1 }],
          },
        },
        {
          name: 'the fastest with it', type: 'scatter', symbol: 'diamond', symbolSize: 13,
          itemStyle: { color: theme.series[1] }, data: shown.map((each, i) => [i, each.best_ratio]),
        },
        ...shown.map((each, i) => ({
          type: 'line', symbol: 'none', silent: true, lineStyle: { color, width: 2 }, data: [[i, each.low], [i, each.high]],
        })),
      ],
    };
  }

  function describe(index: number): string {
    const each = effects()[index];
    if (each === undefined) return '';
    return `${label(name())}=${label(value(each.value))}: ${each.variants} variants\nmean ${ratioText(each.ratio)} that of all `
      + `(95 %: ${ratioText(each.low)} to ${ratioText(each.high)})\nfastest ${ratioText(each.best_ratio)} the fastest of the design`;
  }

  return new ChartFigure({
    title: 'What each value does',
    height: 320,
    option,
    summary: () => {
      const shown = effects();
      if (shown.length === 0) return '';
      const best = shown.reduce((least, each) => (each.ratio < least.ratio ? each : least));
      return `${name()}: on average ${value(best.value)} is fastest, at ${ratioText(best.ratio)} of the mean time. Lower is faster; bars are 95 % intervals.`;
    },
    table: () => plainTable({ caption: `What each value of ${name()} does` }, effects(), [
      { title: name(), text: (each) => value(each.value), order: (each) => each.value },
      { title: 'variants', number: true, text: (each) => String(each.variants), order: (each) => each.variants },
      { title: 'mean time over that of all', number: true, text: (each) => ratioText(each.ratio), order: (each) => each.ratio },
      { title: '95 % from', number: true, text: (each) => ratioText(each.low), order: (each) => each.low },
      { title: 'to', number: true, text: (each) => ratioText(each.high), order: (each) => each.high },
      { title: 'fastest over the fastest', number: true, text: (each) => ratioText(each.best_ratio), order: (each) => each.best_ratio },
    ]),
  });
}

export function designName(state: State, design: DesignImportance): string {
  return state.problem === null ? '' : at(state.problem.designs, design.design).name;
}
