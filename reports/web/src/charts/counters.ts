// Counters that are shares of what the GPU can do, side by side for the variants that were counted.

import { el, fill } from '../dom';
import { numberText } from '../format';
import type { Report } from '../report';
import type { State, View } from '../state';
import { plainTable } from '../table';
import type { Theme } from '../theme';
import { prose, Section } from '../views/section';
import type { ChartOption } from './echarts';
import { ChartFigure } from './figure';
import { categoryAxis, legend, letter, numberAxis, tooltip, wrapped } from './parts';

type Counted = Report['counters'][number];

const kBars = 4;  // variants side by side

function countedOf(state: State): readonly Counted[] {
  const counted = state.report.counters.filter((each) => each.problem === state.group?.problem);
  return counted.sort((a, b) => Number(b.is_pick) - Number(a.is_pick));
}

function percentNames(counted: readonly Counted[]): readonly string[] {
  const names = counted.flatMap((each) => each.values.map((value) => value.name));
  return [...new Set(names)].filter((name) => name.endsWith('_percent'));
}

export function counterValue(counted: Counted, name: string): number | null {
  return counted.values.find((each) => each.name === name)?.value ?? null;
}

// "dram_read_bytes" -> "dram read, bytes".
export function counterTitle(name: string): string {
  const unit = /_(bytes|percent|ns|mhz)$/.exec(name)?.[1];
  if (unit === undefined) return name.replaceAll('_', ' ');
  return `${name.slice(0, -unit.length - 1).replaceAll('_', ' ')}, ${unit === 'percent' ? '%' : unit}`;
}

function countersChart(state: State): ChartFigure {
  const shown = () => countedOf(state).slice(0, kBars);

  function option(theme: Theme): ChartOption {
    const counted = shown();
    const percents = percentNames(counted);
    const names = variantNames(counted);
    return {
      grid: { left: 210, right: 40, top: 40, bottom: 48 },
      legend: legend(theme, names),
      tooltip: tooltip(theme, ({ seriesIndex, dataIndex }) => {
        const each = counted[seriesIndex];
        const name = percents[dataIndex] ?? '';
        return each === undefined ? '' : `${names[seriesIndex] ?? ''}: ${wrapped(each.variant)}\n${counterTitle(name)}: ${numberText(counterValue(each, name))}`;
      }),
      xAxis: numberAxis(theme, { name: 'percent', min: 0, max: 100 }),
      yAxis: { ...categoryAxis(theme, '', percents.map(counterTitle), true), inverse: true },
      series: counted.map((each, i) => ({
        name: names[i], type: 'bar', itemStyle: { color: theme.series[i] },
        data: percents.map((name) => counterValue(each, name) ?? 0),
      })),
    };
  }

  const figure: ChartFigure = new ChartFigure({
    title: 'Shares of what the GPU can do',
    height: 320,
    option: (theme) => {
      figure.setHeight(96 + percentNames(shown()).length * (14 + 10 * shown().length));
      return option(theme);
    },
    summary: () => 'Of one launch of each variant above, as the hardware counted them.',
    table: () => countersTable(state),
  });
  return figure;
}

// Short ones: the view lists which variant is which.
function variantNames(counted: readonly Counted[]): readonly string[] {
  return counted.map((each, i) => `${letter(i)}${each.is_pick ? ' (pick)' : ''}`);
}

// One row for each counter, one column for each variant.
function countersTable(state: State): HTMLElement {
  const counted = countedOf(state);
  const names = [...new Set(counted.flatMap((each) => each.values.map((value) => value.name)))];
  const titles = variantNames(counted);
  return plainTable({ caption: 'Counters of one launch', filter: names.length > 20 }, names, [
    { title: 'counter', text: counterTitle },
    ...counted.map((each, i) => ({
      title: titles[i] ?? '', number: true,
      text: (name: string) => numberText(counterValue(each, name)), order: (name: string) => counterValue(each, name) ?? NaN,
    })),
  ]);
}

export function countersView(state: State): View {
  const sentences = el('ul', { class: 'limits' });
  const chart = countersChart(state);
  const table = el('div');
  const section = new Section('counters', 'Counters and what limits the kernel', sentences, chart.element, table);
  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'counters')) return;
      const counted = countedOf(state);
      if (counted.length === 0) {
        section.note('No counters of this problem were measured.');
        return;
      }
      const names = variantNames(counted);
      fill(sentences, ...counted.map((each, i) =>
        el('li', {}, `${names[i] ?? ''}: `, el('code', {}, each.variant), el('br'), prose(each.limit))));
      chart.element.hidden = percentNames(counted).length === 0;
      chart.update();
      fill(table, countersTable(state));
    },
  };
}
