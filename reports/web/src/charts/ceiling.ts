// How near the variants of a problem come to the ceiling: how many reach which share of it, with the pick, the
// default and other implementations marked. It stands where a roofline would be one vertical line.

import { counted, percentText, shortNumber, speedText, timeText } from '../format';
import { peersOf } from '../peers';
import type { State } from '../state';
import { plainTable } from '../table';
import { kSymbols, type Theme } from '../theme';
import type { ChartOption } from './echarts';
import { ChartFigure } from './figure';
import { label, numberAxis } from './parts';

const kSlowest = 3;  // times the fastest: slower variants are counted in the sentence, not drawn
const kBins = 40;
const kMostPeers = 4;

interface Mark {
  readonly name: string;
  readonly ns: number;
}

interface Measure {
  readonly name: string;                      // of the axis
  readonly of: (ns: number) => number;        // where a time lies on the axis
  readonly text: (place: number) => string;
}

// The share of the ceiling in percent, or, if no ceiling is known, the times the fastest.
function measureOf(state: State): Measure {
  const { pick, group } = state;
  const share = pick?.ceiling ?? null;
  if (pick === undefined || share === null) {
    const fastest = group?.fastest_ns ?? NaN;
    return { name: 'times the time of the fastest', of: (ns) => ns / fastest, text: (place) => speedText(place) };
  }
  const ceiling_ns = pick.time_ns * share.fraction;
  return { name: `percent of the ${share.name}`, of: (ns) => (100 * ceiling_ns) / ns, text: (place) => percentText(place / 100) };
}

function marksOf(state: State): readonly Mark[] {
  const { pick, report } = state;
  if (pick === undefined) return [];
  const isDefault = pick.variant === pick.default_variant;
  return [
    { name: isDefault ? 'pick = default' : 'pick', ns: pick.time_ns },
    ...(pick.default_ns === null || isDefault ? [] : [{ name: 'default', ns: pick.default_ns }]),
    ...peersOf(report, pick).filter((each) => each.median_ns <= kSlowest * pick.time_ns).slice(0, kMostPeers)
      .map((each) => ({ name: each.name, ns: each.median_ns })),
  ];
}

interface Bins {
  readonly places: readonly number[];  // the middle of each bin
  readonly all: readonly number[];     // variants
  readonly chosen: readonly number[];
  readonly slower: number;             // variants that are not drawn
}

function binsOf(state: State): Bins {
  const { group, selection } = state;
  const none: Bins = { places: [], all: [], chosen: [], slower: 0 };
  if (group === null) return none;
  const measure = measureOf(state);
  const isTimed = (time: number) => !Number.isNaN(time);
  const drawn = (time: number) => time <= kSlowest * group.fastest_ns;
  let low = Infinity;
  let high = -Infinity;
  let slower = 0;
  for (const time of group.ranked.values) {
    if (!isTimed(time)) continue;
    if (!drawn(time)) {
      ++slower;
      continue;
    }
    low = Math.min(low, measure.of(time));
    high = Math.max(high, measure.of(time));
  }
  if (high < low) return { ...none, slower };
  const width = Math.max(high - low, 1e-6) / kBins;
  const all = new Array<number>(kBins).fill(0);
  const chosen = new Array<number>(kBins).fill(0);
  group.ranked.values.forEach((time, row) => {
    if (!isTimed(time) || !drawn(time)) return;
    const bin = Math.min(kBins - 1, Math.floor((measure.of(time) - low) / width));
    all[bin] = (all[bin] ?? 0) + 1;
    if (selection.mask[row] === 1) chosen[bin] = (chosen[bin] ?? 0) + 1;
  });
  return { places: all.map((_, i) => low + (i + 0.5) * width), all, chosen, slower };
}

export function ceilingChart(state: State): ChartFigure {
  function option(theme: Theme): ChartOption {
    const bins = binsOf(state);
    const measure = measureOf(state);
    const top = Math.max(1, ...bins.all);
    const marks = marksOf(state);
    const height = (i: number) => top * (1.12 + 0.14 * (marks.length - 1 - i));
    const area = (id: string, color: string, opacity: number) => ({
      id, type: 'line', step: 'middle', symbol: 'none', silent: true, lineStyle: { color, width: 1 }, areaStyle: { color, opacity }, data: [],
    });
    return {
      grid: { left: 64, right: 40, top: 32, bottom: 52 },
      xAxis: numberAxis(theme, { name: measure.name, format: shortNumber }),
      yAxis: { ...numberAxis(theme, { name: 'variants', format: shortNumber, vertical: true, min: 0, max: Math.ceil(top * (1.25 + 0.14 * marks.length)) }), minInterval: 1, axisLabel: { color: theme.muted, showMaxLabel: false } },
      series: [
        area('all', theme.muted, 0.2),
        area('chosen', theme.series[0] ?? theme.accent, 0.35),
        ...marks.map((mark, i) => ({
          id: `mark-${i}`, name: mark.name, type: 'line', silent: true, z: 5, showSymbol: true, symbol: kSymbols[i],
          symbolSize: (_: unknown, { dataIndex }: { dataIndex: number }) => (dataIndex === 1 ? 9 : 0),
          lineStyle: { color: markColor(theme, mark.name), width: 1.5, type: i === 0 ? 'solid' : 'dashed' }, itemStyle: { color: markColor(theme, mark.name) },
          label: {
            show: true, position: isRight(state, mark) ? 'left' : 'right', color: theme.text, textBorderColor: theme.ground, textBorderWidth: 3,
            formatter: ({ dataIndex }: { dataIndex: number }) => (dataIndex === 1 ? `${label(mark.name, 22)} ${measure.text(measure.of(mark.ns))}` : ''),
          },
          data: [[measure.of(mark.ns), 0], [measure.of(mark.ns), height(i)]],
        })),
      ],
    };
  }

  function mark(): ChartOption {
    const bins = binsOf(state);
    const data = (counts: readonly number[]) => bins.places.map((place, i) => [place, counts[i] ?? 0]);
    return { series: [{ id: 'all', data: data(bins.all) }, { id: 'chosen', data: data(bins.chosen) }] };
  }

  return new ChartFigure({
    title: 'How near the variants come to the ceiling',
    height: 320,
    option,
    mark,
    summary: () => {
      const { slower, all } = binsOf(state);
      const drawn = all.reduce((sum, each) => sum + each, 0);
      const share = state.pick?.ceiling?.text;
      return `${share === undefined ? '' : `The pick reaches ${share}. `}${counted(drawn, 'variant')} by their time.`
        + `${slower === 0 ? '' : ` Not drawn: ${counted(slower, 'variant')} that took more than ${kSlowest}x the best.`}`;
    },
    table: () => plainTable({ caption: 'The pick, the default and others' }, marksOf(state), [
      { title: 'what', text: (each) => each.name },
      { title: 'time', number: true, text: (each) => timeText(each.ns), order: (each) => each.ns },
      { title: measureOf(state).name, number: true, text: (each) => measureOf(state).text(measureOf(state).of(each.ns)), order: (each) => measureOf(state).of(each.ns) },
    ]),
  });
}

function markColor(theme: Theme, name: string): string {
  const place = name.startsWith('pick') ? 0 : name === 'default' ? 1 : 6;
  return theme.series[place] ?? theme.text;
}

// Whether the mark lies in the right half of what is drawn, so that its name stands on its left.
function isRight(state: State, mark: Mark): boolean {
  const { places } = binsOf(state);
  const measure = measureOf(state);
  const [first, last] = [places[0] ?? 0, places.at(-1) ?? 1];
  return measure.of(mark.ns) > (first + last) / 2;
}
