// The pick for the problem in sight: how fast it is, and why.

import { commandLine } from '../commands';
import { type Child, el, fill } from '../dom';
import { percentText, speedRange, speedText, timeRange, timeText } from '../format';
import { peerName, peerNotes, peersOf } from '../peers';
import type { Pick, Report } from '../report';
import type { State, View } from '../state';
import { badge, facts, prose, Section } from './section';

const kMostPeers = 3;  // figures beside those of the pick

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

function figures(report: Report, pick: Pick, emulation: boolean): HTMLElement {
  const interval = timeRange(pick.low_ns, pick.high_ns);
  const speedup = speedInterval(pick);
  return el('dl', { class: 'figures' },
    figure(emulation ? 'Time (emulation)' : 'Time', timeText(pick.time_ns), interval === '' ? '' : `95 %: ${interval}`),
    pick.default_ns !== null && figure('Default', timeText(pick.default_ns), ''),
    isGain(pick) && figure('Speed over the default', speedText(pick.speedup), speedup === '' ? '' : `95 %: ${speedup}`),
    ...peersOf(report, pick).slice(0, kMostPeers).map((peer) =>
      figure(peerName(peer), timeText(peer.median_ns), `${speedText(peer.median_ns / pick.time_ns)} the time of the pick`)),
    pick.baseline !== null && figure('Speed over the baseline', speedText(pick.baseline.speedup), pick.baseline.verdict),
    pick.ceiling !== null && figure('Reached of the ceiling', percentText(pick.ceiling.fraction), `of the ${pick.ceiling.name}`));
}

// "timed by graph, the pick by rotating", once for all of them.
function besides(report: Report, pick: Pick): string {
  const notes = new Set(peersOf(report, pick).slice(0, kMostPeers).flatMap((peer) => peerNotes(report, pick, peer)));
  return notes.size === 0 ? '' : `The others were ${[...notes].join(' and ')}.`;
}

function ties(pick: Pick): string {
  const others = pick.tied.filter((variant) => variant !== pick.variant).length;
  if (others === 0) return '';
  return `${others === 1 ? '1 variant is' : `${others} variants are`} not told apart from it in the final: see the finalists.`;
}

function paragraphs(sentences: readonly string[]): Child {
  return sentences.length > 0 && el('div', {}, ...sentences.map((sentence) => el('p', {}, prose(sentence))));
}

function nextStep({ next }: Pick): Child {
  return next !== null && el('div', { class: 'next' }, el('p', {}, next.text), next.command !== '' && commandLine(next.command));
}

// "graph: a CUDA graph of many launches ..."
function method(report: Report, pick: Pick): Child {
  const known = report.methods[pick.method];
  return known !== undefined && prose(`${known.name}: ${known.description}`);
}

function winner(state: State): Child {
  const { pick, problem, group } = state;
  if (pick === undefined || problem === null || group === null) return null;
  return el('article', { class: 'winner', 'aria-labelledby': 'winner-title' },
    el('h3', { id: 'winner-title' }, group.label, group.emulation && ' ', group.emulation && badge('emulation', 'emulation')),
    el('p', { class: 'variant' }, el('code', {}, pick.variant)),
    figures(state.report, pick, group.emulation),
    facts(
      ['Why this variant', paragraphs(pick.why)],
      ['What limits it', pick.limit !== '' && prose(pick.limit)],
      ['What to try next', nextStep(pick)],
      ['Against the default', paragraphs(pick.against_default)],
      ['How it was timed', el('div', { class: 'screen-only' }, method(state.report, pick))],
      ['Others', besides(state.report, pick)],
      ['Ties', ties(pick)],
      ['Noise', pick.noise_floor === null ? '' : `two entries of one variant differed by ${percentText(pick.noise_floor, 2)} in the final`],
    ));
}

export function pickView(state: State): View {
  const box = el('div');
  const section = new Section('pick', 'The pick', box);
  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'picks')) return;
      if (state.pick === undefined) section.note('This problem has no pick.');
      else fill(box, winner(state));
    },
  };
}
