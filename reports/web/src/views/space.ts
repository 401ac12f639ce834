// The variants of one problem: heat map, parallel coordinates, filters. All of them choose, and show
// what is chosen elsewhere.

import { heatMapChart, kHeatEnds, rampLegend } from '../charts/heat_map';
import { lineLegend, parallelChart, variedParameters } from '../charts/parallel';
import type { CategoryColumn } from '../columns';
import { Chooser, el } from '../dom';
import type { State, View } from '../state';
import { filtersPanel } from './filters';
import { importanceOf } from './matters';
import { Section } from './section';
import { variantsTable } from './variants';

type Pair = readonly [string, string];  // keys of the parameters across and down

const kMostValues = 64;  // of a parameter on an axis of the heat map

function heatParameters(state: State): readonly CategoryColumn[] {
  return state.group === null ? [] : variedParameters(state.group).filter((each) => each.labels.length <= kMostValues);
}

// The strongest pair, else the two parameters that matter most, else the first two.
function favourites(state: State, offered: readonly CategoryColumn[]): Pair | null {
  const design = importanceOf(state)?.designs[0];
  const pair = design?.interactions[0];
  const ranked = [...(pair === undefined ? [] : [pair.a, pair.b]), ...(design?.parameters ?? []).map((each) => each.parameter)]
    .map((index) => state.group?.parameters[index + 1]?.key)
    .filter((key) => offered.some((each) => each.key === key));
  const [x, y] = [...new Set([...ranked, ...offered.map((each) => each.key)])];
  return x === undefined || y === undefined ? null : [x, y];
}

export function heatView(state: State): View {
  let keys: Pair | null = null;
  const column = (key: string) => state.group?.parameters.find((each) => each.key === key);
  const axes = () => {
    const x = keys === null ? undefined : column(keys[0]);
    const y = keys === null ? undefined : column(keys[1]);
    return x === undefined || y === undefined ? null : { x, y };
  };
  let end = kHeatEnds[0] ?? 1.1;
  const chart = heatMapChart(state, axes, () => end);
  const ramp = rampLegend(() => end);
  const scale = new Chooser('Colors', (value) => {
    end = Number(value);
    draw();
  });
  const across = new Chooser('Across', (value) => choose(([x, y]) => [value, value === y ? x : y]));
  const down = new Chooser('Down', (value) => choose(([x, y]) => [value === x ? y : x, value]));
  const section = new Section('heat', 'Any two parameters',
    el('div', { class: 'controls' }, across.element, down.element, scale.element, ramp.element), chart.element);
  state.selection.listen(() => chart.mark());

  function draw(): void {
    const choices = heatParameters(state).map((each) => ({ value: each.key, text: each.title }));
    const [x, y] = keys ?? ['', ''];
    across.offer(choices, x);
    down.offer(choices, y);
    scale.offer(kHeatEnds.map((each) => ({ value: String(each), text: `1x to ${each}x` })), String(end));
    ramp.update();
    chart.setHeight(Math.min(720, 110 + 34 * Math.max(3, axes()?.y.labels.length ?? 0)));
    chart.update();
  }

  function choose(change: (pair: Pair) => Pair): void {
    if (keys !== null) keys = change(keys);
    draw();
  }

  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'heat_map')) return;
      const offered = heatParameters(state);
      if (!keys?.every((key) => offered.some((each) => each.key === key))) keys = favourites(state, offered);
      if (keys === null) {
        section.note('Fewer than two parameters of this problem vary.');
        return;
      }
      draw();
    },
  };
}

export function parallelView(state: State): View {
  const chart = parallelChart(state, () => variantsTable(state).element);
  const filters = filtersPanel(state);
  const section = new Section('parallel', 'All parameters', el('div', { class: 'controls' }, lineLegend()), chart.element, filters.element);
  state.selection.listen(() => chart.mark());
  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'parallel')) return;
      if (state.group === null || variedParameters(state.group).length === 0) {
        section.note('No parameter of this problem varies.');
        return;
      }
      chart.update();
      filters.update();
    },
  };
}
