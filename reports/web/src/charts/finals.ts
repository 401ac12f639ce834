// The samples of the finalists: a box from quartile to quartile and a dot for each round.

import { el, fill } from '../dom';
import { countText, percentText, speedText, timeName, timeRange, timeText, timeTick } from '../format';
import { letters } from '../letters';
import type { Final } from '../report';
import type { State, View } from '../state';
import { plainTable } from '../table';
import type { Theme } from '../theme';
import { facts, Section } from '../views/section';
import type { ChartOption } from './echarts';
import { ChartFigure } from './figure';
import { categoryAxis, differences, logAxis, logRange, tooltip, wrapped } from './parts';

type Finalist = Final['finalists'][number];

export function finalOf(state: State): Final | undefined {
  const { group } = state;
  return state.report.finals.find((each) => each.problem === group?.problem && each.method === group.method);
}

function role(finalist: Finalist): string {
  const words = [finalist.is_pick && 'pick', finalist.is_default && 'default', finalist.tied && 'tied'];
  return words.filter((each) => each !== false).join(', ');
}

// Least, quartiles, greatest; linear between samples.
function quartiles(samples: Float64Array): readonly number[] {
  const sorted = samples.slice().sort();
  return [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const place = part * (sorted.length - 1);
    const low = sorted[Math.floor(place)] ?? NaN;
    const high = sorted[Math.ceil(place)] ?? NaN;
    return low + (high - low) * (place - Math.floor(place));
  });
}

const kDots = 60;  // of a finalist, evenly over the rounds
const kLineHeight = 14;  // px, of the labels
const kLetter = 6.6;     // px, at their size

function labelWidth(width: number): number {
  return Math.min(320, Math.round(width * 0.4));
}

// What tells each finalist from the others, in as many lines as it takes.
function labelsOf(state: State, finalists: readonly Finalist[], width: number): readonly string[] {
  const known = letters(state);
  const names = differences(finalists.map((each) => each.variant));
  return finalists.map((each, i) => {
    const marks = role(each);
    return `${[known.get(each.variant) ?? '', marks].filter((word) => word !== '').join(': ')}\n${wrapped(names[i] ?? '', Math.floor((labelWidth(width) - 12) / kLetter))}`;
  });
}

function finalsChart(state: State): ChartFigure {
  const finalists = () => (finalOf(state)?.finalists ?? []).filter((each) => each.samples_ns.length > 0);

  // The dots of one finalist lie over each other, spread by their round.
  function dots(finalist: Finalist, place: number): readonly (readonly [number, number])[] {
    const { samples_ns } = finalist;
    const step = Math.max(1, Math.ceil(samples_ns.length / kDots));
    const dots: [number, number][] = [];
    for (let round = 0; round < samples_ns.length; round += step) {
      dots.push([samples_ns[round] ?? NaN, place + 0.28 + 0.44 * (round / samples_ns.length)]);
    }
    return dots;
  }

  function option(theme: Theme, width: number): ChartOption {
    const shown = finalists();
    const range = logRange(shown.flatMap((each) => [...each.samples_ns]), 1.004);
    if (range === null) return {};
    const labels = labelsOf(state, shown, width);
    const color = (each: Finalist) => theme.series[each.is_default ? 1 : each.tied || each.is_pick ? 0 : 4] ?? theme.text;
    return {
      grid: { left: labelWidth(width), right: 28, top: 20, bottom: 48 },
      tooltip: tooltip(theme, ({ seriesIndex, dataIndex }) => describe(shown[seriesIndex === 0 ? dataIndex : seriesIndex - 1])),
      xAxis: logAxis(theme, { name: timeName(state.group?.emulation ?? false), format: timeTick, ...range }),
      // The second axis lies over the first, and has places between the names.
      yAxis: [
        {
          ...categoryAxis(theme, '', [], true), data: labels, inverse: true,
          axisLabel: { color: theme.text, interval: 0, fontSize: 11, lineHeight: kLineHeight },
        },
        { type: 'value', show: false, min: 0, max: shown.length, inverse: true },
      ],
      series: [
        {
          type: 'boxplot', boxWidth: ['30%', '60%'],
          data: shown.map((each) => ({
            value: [...quartiles(each.samples_ns)], itemStyle: { color: theme.surface, borderColor: color(each), borderWidth: 1.6 },
          })),
        },
        ...shown.map((each, place) => ({
          type: 'scatter', yAxisIndex: 1, symbolSize: 4, silent: true, z: 4, itemStyle: { color: color(each), opacity: 0.45 }, data: dots(each, place),
        })),
      ],
    };
  }

  function describe(each: Finalist | undefined): string {
    if (each === undefined) return '';
    const mark = role(each);
    return `${mark === '' ? '' : `${mark}\n`}median ${timeText(each.median_ns)} (95 %: ${timeRange(each.low_ns, each.high_ns)})\n`
      + `${speedText(each.ratio)} the time of the default in the same round`;
  }

  const figure: ChartFigure = new ChartFigure({
    title: 'Samples of the finalists',
    height: 320,
    option: (theme, width) => {
      const labels = labelsOf(state, finalists(), width);
      const lines = Math.max(2, ...labels.map((each) => each.split('\n').length));
      figure.setHeight(Math.max(160, 76 + (16 + kLineHeight * lines) * labels.length));
      return option(theme, width);
    },
    summary: () => {
      const final = finalOf(state);
      if (final === undefined) return '';
      return `${final.finalists.length} variants were timed in turn, in random order, for ${final.rounds} rounds. `
        + `Two entries of one variant differed by ${percentText(final.noise_floor, 2)}, which is the noise; less than that, or than 0.5 %, is a tie.`;
    },
    table: () => plainTable({ caption: 'The finalists, the fastest first' }, finalOf(state)?.finalists ?? [], [
      { title: 'letter', text: (each) => letters(state).get(each.variant) ?? '' },
      { title: 'variant', text: (each) => each.variant },
      { title: 'mark', text: role },
      { title: timeName(state.group?.emulation ?? false), number: true, text: (each) => timeText(each.median_ns), order: (each) => each.median_ns },
      { title: '95 % from', number: true, text: (each) => timeText(each.low_ns), order: (each) => each.low_ns },
      { title: 'to', number: true, text: (each) => timeText(each.high_ns), order: (each) => each.high_ns },
      { title: 'over the default', number: true, text: (each) => each.ratio.toFixed(4), order: (each) => each.ratio },
      { title: '95 % from', number: true, text: (each) => each.ratio_low.toFixed(4), order: (each) => each.ratio_low },
      { title: 'to', number: true, text: (each) => each.ratio_high.toFixed(4), order: (each) => each.ratio_high },
      { title: 'samples', number: true, text: (each) => String(each.samples_ns.length), order: (each) => each.samples_ns.length },
    ]),
  });
  return figure;
}

export function finalsView(state: State): View {
  const chart = finalsChart(state);
  const notes = el('div');
  const section = new Section('finals', 'The final', chart.element, notes);
  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'finals')) return;
      const final = finalOf(state);
      if (final === undefined) {
        section.note('No final was held for this problem.');
        return;
      }
      chart.update();
      const { clocks } = final;
      const measured = (value: number, unit: string) => (value > 0 ? `${countText(Math.round(value))} ${unit}` : '');
      fill(notes, facts(
        ['SM clock', measured(clocks.sm_mhz, 'MHz')], ['Memory clock', measured(clocks.memory_mhz, 'MHz')],
        ['Power', measured(clocks.power_w, 'W')], ['Temperature', measured(clocks.temperature_c, '°C')],
        ['Held down', clocks.throttled_samples > 0
          ? `The GPU lowered its clocks (${clocks.throttle_reasons}) during ${countText(clocks.throttled_samples)} samples. They were taken again, but for those in the note.`
          : ''],
        ['Note', final.note], ['Not counted', final.not_counted]));
    },
  };
}
