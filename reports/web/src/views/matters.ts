// What matters: the importance of each parameter and the effect of its values, design by design.

import { designName, effectsChart, type Looked, parameterName, sharesChart } from '../charts/importance';
import { type Choice, Chooser, el, fill } from '../dom';
import { counted, percentText, ratioText } from '../format';
import type { Importance } from '../report';
import type { State, View } from '../state';
import { Section } from './section';

export function importanceOf(state: State): Importance | undefined {
  const { group } = state;
  return state.report.importance.find((each) => each.problem === group?.problem && each.method === group.method);
}

export function mattersView(state: State): View {
  let design = 0;
  let parameter = 0;  // places in the lists of the document
  let label: string | undefined;
  const looked = (): Looked => {
    const chosen = importanceOf(state)?.designs[design] ?? null;
    return { design: chosen, parameter: chosen?.parameters[parameter] ?? null };
  };
  const designs = new Chooser('Design', (value) => {
    design = Number(value);
    parameter = 0;
    draw();
  });
  const parameters = new Chooser('Values of', (value) => {
    parameter = Number(value);
    draw();
  });
  const notes = el('div');
  const lookAt = (index: number) => {
    parameter = Math.max(0, looked().design?.parameters.findIndex((each) => each.parameter === index) ?? 0);
    draw();
  };
  const shares = sharesChart(state, looked, lookAt);
  const effects = effectsChart(state, looked);
  const section = new Section('matters', 'What matters', el('div', { class: 'controls' }, designs.element, parameters.element),
    el('div', { class: 'pair' }, shares.element, effects.element), notes);

  function draw(): void {
    const importance = importanceOf(state);
    if (importance === undefined) return;
    const chosen = looked().design;
    const offered: readonly Choice[] = importance.designs.map((each, i) => ({
      value: String(i), text: `${designName(state, each)} (${counted(each.variants, 'variant')})`,
    }));
    designs.offer(offered.length > 1 ? offered : [], String(design));
    parameters.offer((chosen?.parameters ?? []).map((each, i) => ({
      value: String(i), text: parameterName(state, each.parameter),
    })), String(parameter));
    shares.update();
    effects.update();
    fill(notes, ...sentences(state, importance, looked()).map((each) => el('p', { class: 'note' }, each)));
  }

  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'importance')) return;
      const importance = importanceOf(state);
      if (importance === undefined) {
        section.note('Too few variants of this problem have a time to say which parameter matters.');
        return;
      }
      // What was looked at stays in sight as long as the problem does.
      if (state.group?.label !== label) {
        label = state.group?.label;
        const winner = state.pick?.design;
        design = Math.max(0, importance.designs.findIndex((each) => designName(state, each) === winner));
        parameter = 0;
      }
      draw();
    },
  };
}

function sentences(state: State, importance: Importance, { design }: Looked): readonly string[] {
  const lines: string[] = [];
  if (importance.design_share !== null) {
    lines.push(`Which design is used explains ${percentText(importance.design_share, 0)} of the variation over all designs.`);
  }
  if (design !== null) {
    lines.push(`Of ${counted(design.variants, 'variant')} of ${designName(state, design)}, the slowest takes ${ratioText(design.spread)} the time of the fastest.`);
    const pairs = design.interactions.filter((each) => each.share >= 0.005).map((each) =>
      `${parameterName(state, each.a)} with ${parameterName(state, each.b)} (${percentText(each.share)})`);
    const unknown = design.parameters.filter((each) => each.total === null).map((each) => parameterName(state, each.parameter));
    if (unknown.length > 0 && unknown.length < design.parameters.length) {
      lines.push(`What changing it alone does is not known of ${unknown.join(', ')}: too few variants differ in nothing else.`);
    }
    if (pairs.length > 0) lines.push(`What pairs explain beyond their two parameters: ${pairs.join(', ')}.`);
  }
  if (importance.note !== '') lines.push(importance.note);
  return lines;
}
