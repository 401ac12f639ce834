// The first screen: what was found in one sentence, the times as bars, and how to use the pick.

import { timesChart } from '../charts/times';
import { type Child, el, fill } from '../dom';
import { countText, speedText, timeText } from '../format';
import { at, outcomeName } from '../group';
import { otherDate, otherMethod, peerName, peersOf } from '../peers';
import type { Peer, Pick, Report } from '../report';
import type { State, View } from '../state';
import { badge, Section } from './section';
import { usageView } from './usage';

const kTie = 0.005;  // as in the final: what differs by less is no difference

interface Beside {
  readonly pick: Pick;
  readonly peer: Peer;  // the fastest for the pick's problem
  readonly gain: number;
}

function besides(report: Report): readonly Beside[] {
  return report.picks.flatMap((pick) => {
    const [peer] = peersOf(report, pick);
    return peer === undefined ? [] : [{ pick, peer, gain: peer.median_ns / pick.time_ns }];
  }).sort((a, b) => b.gain - a.gain);
}

interface Lead {
  readonly headline: string;
  readonly beside: string;
}

function peerLead(report: Report): Lead | null {
  const all = besides(report);
  const [best] = all;
  const least = all.at(-1);
  if (best === undefined || least === undefined) return null;
  const problem = at(report.problems, best.pick.problem);
  const notes = (words: string, note: typeof otherMethod) =>
    [...new Set(all.map(({ pick, peer }) => note(report, pick, peer)))].filter((each) => each !== '')
      .map((each) => `${words}: the others were ${each}.`);
  const lost = all.filter((each) => each.gain < 1 - kTie).length;
  const where = lost === 0 ? '' : ` It is the faster one at ${countText(lost)} of them.`;
  const range = all.length === 1 ? '' :
    `Over ${countText(all.length)} problems the fastest other implementation takes ${speedText(least.gain)} to ${speedText(best.gain)} the time of the pick.${where}`;
  return {
    headline: `${problem.operator} ${problem.problem} takes ${timeText(best.pick.time_ns)} with mgtune on ${at(report.gpus, problem.gpu).model}; `
      + `${peerName(best.peer)} takes ${timeText(best.peer.median_ns)} (${speedText(best.gain)}).`,
    beside: [range, ...notes('The methods differ', otherMethod), ...notes('The dates differ', otherDate)].join(' ').trim(),
  };
}

function outcomes(report: Report): Child {
  if (report.counts.length === 0) return null;
  const kind = (failed: boolean) => (failed ? 'bad' : '');
  return el('span', { class: 'outcomes' }, ...report.counts.flatMap((each) =>
    [badge(`${countText(each.count)} ${outcomeName(each.outcome)}`, kind(each.failed)), ' ']));
}

// To the part that has them.
function reasonsLink({ pick }: State): Child {
  if (pick === undefined || (pick.why.length === 0 && pick.next === null)) return null;
  return el('a', { href: '#pick' }, pick.why.length === 0 ? 'What to try next' : 'Why it wins, and what to try next');
}

export function verdictView(state: State): View {
  const words = el('div');
  const times = timesChart(state);
  const usage = usageView(state);
  const also = el('div', { class: 'also' });
  const section = new Section('verdict', 'Verdict', words, el('div', { class: 'first' }, times.element, usage.element), also);
  return {
    element: section.element,
    update: () => {
      const { report } = state;
      const lead = peerLead(report);
      const sentences = report.verdict.map((each) => el('p', { class: 'sentence' }, each));
      if (lead === null) sentences[0]?.classList.add('headline');
      fill(words,
        lead === null ? sentences[0] : el('p', { class: 'headline' }, lead.headline),
        el('p', { class: 'beside muted' }, lead !== null && lead.beside !== '' && `${lead.beside} `,
          reasonsLink(state)),
        report.emulation && el('p', { class: 'notice', role: 'note' }, badge('emulation', 'emulation'), ` ${report.emulation_note}`));
      fill(also, ...(lead === null ? sentences.slice(1) : sentences), outcomes(report));
      times.update();
      usage.update();
    },
  };
}

export function gpuName(report: Report, problem: number): string {
  return at(report.gpus, at(report.problems, problem).gpu).model;
}
