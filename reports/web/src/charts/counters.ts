// Counters that are shares of what the GPU can do, side by side for the variants that were counted.

import { el, fill } from '../dom';
import { numberText, timeText } from '../format';
import { letters } from '../letters';
import type { Report } from '../report';
import type { State, View } from '../state';
import { plainTable } from '../table';
import type { Theme } from '../theme';
import { prose, Section } from '../views/section';
import type { ChartOption } from './echarts';
import { ChartFigure } from './figure';
import { categoryAxis, legend, numberAxis, tooltip, wrapped } from './parts';

type Counted = Report['counters'][number];

const kDramShare = 'dram_throughput_percent';
const kDerivedShare = 'dram_of_copy_percent';
const kElapsedDiffers = 0.02;
const kBars = 7;  // variants side by side: as many as there are colours

// The pick, then the finalists, the fastest first.
function countedOf(state: State): readonly Counted[] {
  const places = [...letters(state).keys()];
  return state.report.counters.filter((each) => each.problem === state.group?.problem).map((each) => withDramShare(state, each))
    .sort((a, b) => places.indexOf(a.variant) - places.indexOf(b.variant));
}

// With the traffic of DRAM as a share of the fastest copy or read that was measured on the GPU, where the share of its rated bandwidth
// was not counted: databases that are older than that counter.
function withDramShare(state: State, counted: Counted): Counted {
  const rates = state.report.roofline.ceilings.filter((each) => each.gpu === state.problem?.gpu && each.unit === 'bytes/s').map((each) => each.rate);
  const [read, written, elapsed] = [counterValue(counted, 'dram_read_bytes'), counterValue(counted, 'dram_write_bytes'), counterValue(counted, 'elapsed_ns')];
  if (counterValue(counted, kDramShare) !== null || rates.length === 0 || read === null || written === null || elapsed === null) return counted;
  const value = (100 * 1e9 * (read + written)) / elapsed / Math.max(...rates);
  return { ...counted, values: [{ name: kDerivedShare, value }, ...counted.values] };
}

// Shares of what the memory and the units can do come first, as in the first lines of ncu; how often a cache had
// the data is something else.
const kFirst: readonly string[] = [
  kDramShare, kDerivedShare, 'l2_throughput_percent', 'sm_throughput_percent', 'l1_throughput_percent', 'memory_throughput_percent',
  'issue_active_percent', 'tensor_active_percent',
];

// Of all that was counted, the shares first.
function namesOf(counted: readonly Counted[]): readonly string[] {
  const place = (name: string) => (kFirst.includes(name) ? kFirst.indexOf(name) : kFirst.length);
  return [...new Set(counted.flatMap((each) => each.values.map((value) => value.name)))].sort((a, b) => place(a) - place(b));
}

function shareNames(counted: readonly Counted[]): readonly string[] {
  return namesOf(counted).filter((name) => name.endsWith('_percent') && !name.endsWith('_hit_percent'));
}

function hitNames(counted: readonly Counted[]): readonly string[] {
  return namesOf(counted).filter((name) => name.endsWith('_hit_percent'));
}

export function counterValue(counted: Counted, name: string): number | null {
  return counted.values.find((each) => each.name === name)?.value ?? null;
}

const kUnits: ReadonlyMap<string, string> = new Map([['bytes', 'bytes'], ['percent', '%'], ['ns', 'ns'], ['mhz', 'MHz']]);

// "dram_read_bytes" -> "DRAM read, bytes", "sm_throughput_percent" -> "SM, % of peak".
export function counterTitle(name: string): string {
  const words = name.replace('_throughput_percent', '_% of peak').split('_');
  const unit = kUnits.get(words.at(-1) ?? '') ?? (words.at(-1) === '% of peak' ? '% of peak' : '');
  const plain = (unit === '' ? words : words.slice(0, -1)).map((word) => (/^(dram|sm|l1|l2)$/.test(word) ? word.toUpperCase() : word));
  return `${plain.join(' ')}${unit === '' ? '' : `, ${unit}`}`;
}

function countersChart(state: State, title: string, namesIn: (counted: readonly Counted[]) => readonly string[]): ChartFigure {
  const shown = () => countedOf(state).slice(0, kBars);
  const isCut = () => countedOf(state).length > kBars;

  function option(theme: Theme): ChartOption {
    const counted = shown();
    const percents = namesIn(counted);
    const names = variantNames(state, counted);
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
    title,
    height: 320,
    option: (theme) => {
      figure.setHeight(96 + namesIn(shown()).length * (14 + 10 * shown().length));
      return option(theme);
    },
    summary: () => `${isCut() ? `Drawn: the first ${kBars} of ${countedOf(state).length}; the table has all. ` : ''}Of one launch of each variant above, as the hardware counted them.${namesIn(shown()).includes(kDerivedShare) ? ' DRAM of copy: its traffic in the time under the profiler, of the fastest copy or read measured on this GPU.' : ''}`,
    table: () => countersTable(state),
  });
  return figure;
}

// Short ones: the view lists which variant is which.
function variantNames(state: State, counted: readonly Counted[]): readonly string[] {
  const known = letters(state);
  return counted.map((each) => `${known.get(each.variant) ?? ''}${each.is_pick ? ' (pick)' : ''}`);
}

// One row for each counter, one column for each variant.
function countersTable(state: State): HTMLElement {
  const counted = countedOf(state);
  const names = namesOf(counted);
  const titles = variantNames(state, counted);
  return plainTable({ caption: 'Counters of one launch', filter: names.length > 20 }, names, [
    { title: 'counter', text: counterTitle },
    ...counted.map((each, i) => ({
      title: titles[i] ?? '', number: true,
      text: (name: string) => numberText(counterValue(each, name)), order: (name: string) => counterValue(each, name) ?? NaN,
    })),
  ]);
}

// Why the profiler's time is not the time of the tables; "" where the two agree.
function elapsedNote(state: State, counted: readonly Counted[]): string {
  const elapsed = counted[0] === undefined ? null : counterValue(counted[0], 'elapsed_ns');
  const time = state.pick?.time_ns ?? NaN;
  if (elapsed === null || counted[0]?.is_pick !== true || !(Math.abs(elapsed / time - 1) > kElapsedDiffers)) return '';
  return `elapsed, ns is the time of one launch under the profiler: ${timeText(elapsed)} for the pick. It is not the time of the other tables `
    + `(${timeText(time)}), because the profiler runs each launch on its own and reads its counters around it. Compare it only with other elapsed times.`;
}

export function countersView(state: State): View {
  const sentences = el('ul', { class: 'limits' });
  const shares = countersChart(state, 'Shares of what the GPU can do', shareNames);
  const hits = countersChart(state, 'How often a cache had the data', hitNames);
  const note = el('p', { class: 'note' });
  const table = el('div');
  const section = new Section('counters', 'Counters and what limits the kernel', sentences, shares.element, hits.element, note, table);
  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'counters')) return;
      const counted = countedOf(state);
      if (counted.length === 0) {
        section.note('No counters of this problem were measured.');
        return;
      }
      const names = variantNames(state, counted);
      fill(sentences, ...counted.map((each, i) =>
        el('li', {}, `${names[i] ?? ''}: `, el('code', {}, each.variant), el('br'), prose(each.limit))));
      shares.element.hidden = shareNames(counted).length === 0;
      hits.element.hidden = hitNames(counted).length === 0;
      shares.update();
      hits.update();
      note.textContent = elapsedNote(state, counted);
      fill(table, countersTable(state));
    },
  };
}
