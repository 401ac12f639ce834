// The parts that are a chart and little else: roofline, best so far, finalists, problem sizes, counters.

import { countersChart, countersTable, countedOf, percentNames, variantNames } from '../charts/counters';
import { bestOf, evaluationsChart } from '../charts/evaluations';
import { finalOf, finalsChart } from '../charts/finals';
import { isFarFromRidge, rooflineChart } from '../charts/roofline';
import { letter } from '../charts/parts';
import { dispatched, sizesChart } from '../charts/sizes';
import { Chooser, el, fill } from '../dom';
import { countText, durationText } from '../format';
import { at } from '../group';
import type { Sizes } from '../report';
import type { State, View } from '../state';
import { facts, prose, Section } from './section';

export function rooflineView(state: State): View {
  let wish: string | null = null;  // until one is expressed, what shows the points
  const shown = () => wish ?? (isFarFromRidge(state) ? 'near' : 'all');
  const chart = rooflineChart(state, () => shown() === 'near');
  const range = new Chooser('Show', (value) => {
    wish = value;
    chart.update();
  });
  const section = new Section('roofline', 'Roofline', el('div', { class: 'controls' }, range.element), chart.element);
  state.selection.listen(() => chart.mark());
  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'roofline')) return;
      range.offer([{ value: 'all', text: 'all ceilings' }, { value: 'near', text: 'around the points' }], shown());
      chart.update();
    },
  };
}

export function progressView(state: State): View {
  const byEvaluation = evaluationsChart(state, {
    title: 'Best so far, against evaluations', axis: 'evaluation', column: () => state.group?.order ?? null,
    place: (step) => step.evaluation, end: (best) => best.evaluations, text: countText,
  });
  const byTime = evaluationsChart(state, {
    title: 'Best so far, against time', axis: 'seconds since the start', column: () => state.group?.seconds ?? null,
    place: (step) => step.seconds, end: (best) => best.seconds, text: durationText,
  });
  const section = new Section('progress', 'How the search went', el('div', { class: 'pair' }, byEvaluation.element, byTime.element));
  const charts = [byEvaluation, byTime];
  for (const chart of charts) state.selection.listen(() => chart.mark());
  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'best_so_far')) return;
      const best = bestOf(state);
      if (best === undefined || !best.order_known) {
        section.note('In which order the variants of this problem were evaluated is not known: they were imported, or none has a time.');
        return;
      }
      byTime.element.hidden = best.seconds === null;
      for (const chart of charts) chart.update();
    },
  };
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
      [letter(i), el('code', {}, variant)] as const)));
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
