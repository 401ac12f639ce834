// What was found, in a few sentences, and the pick for the problem in sight: how fast, why, how to use it.

import { commandLine, rerunCommand } from '../commands';
import { type Child, el, fill } from '../dom';
import { countText, percentText, ratioText, timeText } from '../format';
import { at } from '../group';
import type { Pick, Report } from '../report';
import type { State, View } from '../state';
import { badge, facts, prose, Section } from './section';

export function standingText(pick: Pick): string {
  switch (pick.standing) {
    case 'faster':
      return `${ratioText(pick.speedup)} the speed of the default`;
    case 'tie':
      return 'nothing beat the default beyond noise: the default stays';
    case 'default_fastest':
      return 'the default is the fastest';
    case 'no_default':
      return 'the default has no time on this problem';
  }
}

export function intervalText(low: number | null, high: number | null, text: (value: number) => string): string {
  return low === null || high === null ? '' : `${text(low)} to ${text(high)}`;
}

export function pickOf(state: State): Pick | undefined {
  const { group } = state;
  return state.report.picks.find((pick) => pick.problem === group?.problem && pick.method === group.method);
}

function figure(name: string, value: string, detail: string): HTMLElement {
  return el('div', {}, el('dt', {}, name), el('dd', {}, value, detail !== '' && el('small', {}, detail)));
}

function figures(pick: Pick, emulation: boolean): HTMLElement {
  const interval = intervalText(pick.low_ns, pick.high_ns, timeText);
  const speedup = intervalText(pick.speedup_low, pick.speedup_high, ratioText);
  return el('dl', { class: 'figures' },
    figure(emulation ? 'Time (emulation)' : 'Time', timeText(pick.time_ns), interval === '' ? '' : `95 %: ${interval}`),
    pick.default_ns !== null && figure('Default', timeText(pick.default_ns), ''),
    pick.speedup !== null && figure('Speed over the default', ratioText(pick.speedup), speedup === '' ? '' : `95 %: ${speedup}`),
    pick.baseline !== null && figure('Speed over the baseline', ratioText(pick.baseline.speedup), pick.baseline.verdict),
    pick.ceiling !== null && figure('Reached', percentText(pick.ceiling.fraction), `of the ${pick.ceiling.name}`));
}

function ties(pick: Pick): string {
  const others = pick.tied.filter((variant) => variant !== pick.variant).length;
  if (others === 0) return '';
  return `${others === 1 ? '1 variant is' : `${others} variants are`} not told apart from it in the final: see the finalists.`;
}

function winner(state: State): Child {
  const pick = pickOf(state);
  const { problem, group } = state;
  if (pick === undefined || problem === null || group === null) return null;
  const rerun = rerunCommand(problem.rerun, pick.variant);
  return el('article', { class: 'winner', 'aria-labelledby': 'winner-title' },
    el('h3', { id: 'winner-title' }, group.label, group.emulation && ' ', group.emulation && badge('emulation', 'emulation')),
    el('p', { class: 'variant' }, el('code', {}, pick.variant)),
    figures(pick, group.emulation),
    facts(
      ['Against the default', standingText(pick)],
      ['Why', pick.limit !== '' && prose(pick.limit)],
      ['Ties', ties(pick)],
      ['Noise', pick.noise_floor === null ? '' : `differences below ${percentText(pick.noise_floor, 2)} are noise`],
      ['How to use it', pick.use !== '' && commandLine(pick.use)],
      ['Measure it again', rerun !== '' && commandLine(rerun)],
    ));
}

function outcomes(report: Report): Child {
  if (report.counts.length === 0) return null;
  return el('p', { class: 'outcomes' }, ...report.counts.flatMap((each) =>
    [badge(`${countText(each.count)} ${each.outcome}`, each.failed ? 'bad' : ''), ' ']));
}

export function verdictView(state: State): View {
  const box = el('div');
  const section = new Section('verdict', 'Verdict', box);
  return {
    element: section.element,
    update: () => {
      const { report } = state;
      fill(box,
        ...report.verdict.map((sentence) => el('p', { class: 'sentence' }, sentence)),
        report.emulation && el('p', { class: 'notice', role: 'note' }, badge('emulation', 'emulation'), ` ${report.emulation_note}`),
        winner(state),
        outcomes(report));
    },
  };
}

export function gpuName(report: Report, problem: number): string {
  return at(report.gpus, at(report.problems, problem).gpu).model;
}
