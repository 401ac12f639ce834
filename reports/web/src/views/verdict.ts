// What was found, in a few sentences, and the pick for the problem in sight: how fast, why, how to use it.

import { commandLine, rerunCommand } from '../commands';
import { type Child, el, fill } from '../dom';
import { countText, percentText, speedRange, speedText, timeRange, timeText } from '../format';
import { at } from '../group';
import type { Pick, Report } from '../report';
import type { State, View } from '../state';
import { badge, facts, prose, Section } from './section';

// "" where the pick is what it would be compared with.
export function speedInterval(pick: Pick): string {
  const { speedup_low: low, speedup_high: high } = pick;
  return low === null || high === null || !isGain(pick) ? '' : speedRange(low, high);
}

export function isGain(pick: Pick): boolean {
  return pick.speedup !== null && pick.standing === 'faster';
}

function figure(name: string, value: string, detail: string): HTMLElement {
  return el('div', {}, el('dt', {}, name), el('dd', {}, value, detail !== '' && el('small', {}, detail)));
}

function figures(pick: Pick, emulation: boolean): HTMLElement {
  const interval = timeRange(pick.low_ns, pick.high_ns);
  const speedup = speedInterval(pick);
  return el('dl', { class: 'figures' },
    figure(emulation ? 'Time (emulation)' : 'Time', timeText(pick.time_ns), interval === '' ? '' : `95 %: ${interval}`),
    pick.default_ns !== null && figure('Default', timeText(pick.default_ns), ''),
    isGain(pick) && figure('Speed over the default', speedText(pick.speedup), speedup === '' ? '' : `95 %: ${speedup}`),
    pick.baseline !== null && figure('Speed over the baseline', speedText(pick.baseline.speedup), pick.baseline.verdict),
    pick.ceiling !== null && figure('Reached', percentText(pick.ceiling.fraction), `of the ${pick.ceiling.name}`));
}

function ties(pick: Pick): string {
  const others = pick.tied.filter((variant) => variant !== pick.variant).length;
  if (others === 0) return '';
  return `${others === 1 ? '1 variant is' : `${others} variants are`} not told apart from it in the final: see the finalists.`;
}

function againstDefault(pick: Pick): Child {
  return pick.against_default.length > 0 && el('div', {}, ...pick.against_default.map((sentence) => el('p', {}, sentence)));
}

function howToUse(pick: Pick): HTMLElement {
  if (pick.use === '') {
    return el('p', {}, 'No program runs it: a recording is for reading. A sweep on the GPU at hand makes picks.');
  }
  return el('div', { class: 'steps' },
    el('p', {}, 'Programs that open this database with libmgruntime already run it. To ship it without the database, write one file for ',
      el('code', {}, 'mgr_open'), ' or ', el('code', {}, 'MGTUNE_DB'), ':'),
    commandLine(pick.ship),
    el('p', {}, 'What a program gets for this problem, or for any other:'),
    commandLine(pick.use));
}

function winner(state: State): Child {
  const { pick, problem, group } = state;
  if (pick === undefined || problem === null || group === null) return null;
  const rerun = rerunCommand(problem.rerun, pick.variant);
  return el('article', { class: 'winner', 'aria-labelledby': 'winner-title' },
    el('h3', { id: 'winner-title' }, group.label, group.emulation && ' ', group.emulation && badge('emulation', 'emulation')),
    el('p', { class: 'variant' }, el('code', {}, pick.variant)),
    figures(pick, group.emulation),
    facts(
      ['Against the default', againstDefault(pick)],
      ['Why', pick.limit !== '' && prose(pick.limit)],
      ['Ties', ties(pick)],
      ['Noise', pick.noise_floor === null ? '' : `two entries of one variant differed by ${percentText(pick.noise_floor, 2)} in the final`],
      ['How to use it', howToUse(pick)],
      ['Run it again', rerun !== '' && el('div', {}, el('p', {}, 'This reads hardware counters, which most drivers let only root do.'), commandLine(rerun))],
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
