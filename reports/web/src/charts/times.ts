// The time of the pick, the default and other implementations for each problem, as bars against the ceiling. The
// bars are a table, so that their text wraps on a phone and prints.

import { button, type Child, el, fill } from '../dom';
import { percentText, speedText, timeText } from '../format';
import { at } from '../group';
import { peerName, peerNotes, peersOf } from '../peers';
import { sharedWordsText, shortProblemName } from '../problem_names';
import type { Pick } from '../report';
import type { State, View } from '../state';

interface Bar {
  readonly kind: 'pick' | 'default' | 'peer';
  readonly name: string;
  readonly ns: number;
  readonly title: string;  // more about it, or ""
}

interface Scale {
  readonly of: (pick: Pick) => number;  // ns that are as long as 1
  readonly end: number;
  readonly hasCeiling: boolean;
  readonly isAlone: boolean;  // all problems are on one scale
}

const kLongest = 3;      // times what the bars are compared with: longer bars are cut
const kLinesAtFirst = 14;

function bars(state: State, pick: Pick): readonly Bar[] {
  const { report } = state;
  const isDefault = pick.default_variant === pick.variant;
  return [
    { kind: 'pick', name: isDefault ? 'pick = default' : 'pick', ns: pick.time_ns, title: pick.ceiling?.text ?? '' },
    ...(pick.default_ns === null || isDefault ? [] : [{
      kind: 'default' as const, name: 'default', ns: pick.default_ns, title: pick.default_variant,
    }]),
    ...peersOf(report, pick).map((peer) => ({
      kind: 'peer' as const, name: peer.name, ns: peer.median_ns,
      title: [peerName(peer), ...peerNotes(report, pick, peer)].join(', '),
    })),
  ];
}

// The largest gain first: over the fastest peer where there is one, otherwise over the default.
function gain(state: State, pick: Pick): number {
  const peer = peersOf(state.report, pick)[0];
  return (peer?.median_ns ?? pick.default_ns ?? pick.time_ns) / pick.time_ns;
}

function scaleOf(state: State, picks: readonly Pick[]): Scale {
  const hasCeiling = picks.some((pick) => pick.ceiling !== null);
  // With nothing to compare a pick with, the problems are compared with each other.
  const isAlone = !hasCeiling && picks.every((pick) => bars(state, pick).length === 1);
  const longest = Math.max(...picks.map((pick) => pick.time_ns));
  const of = (pick: Pick) => (isAlone ? longest : pick.time_ns * (pick.ceiling?.fraction ?? 1));
  const lengths = picks.flatMap((pick) => bars(state, pick).map((each) => each.ns / of(pick)));
  return { of, end: Math.min(kLongest, 1.05 * Math.max(1, ...lengths)), hasCeiling, isAlone };
}

function row(pick: Pick, bar: Bar, scale: Scale): HTMLElement {
  const length = bar.ns / scale.of(pick) / scale.end;
  const mark = el('div', { class: `length ${bar.kind}${length > 1 ? ' cut' : ''}` });
  mark.style.width = `${100 * Math.min(1, length)}%`;
  const ceiling = pick.ceiling !== null && el('div', { class: 'ceiling' });
  if (ceiling !== false) ceiling.style.left = `${100 / scale.end}%`;
  return el('tr', { title: bar.title || undefined },
    el('th', { scope: 'row' }, bar.name),
    el('td', { class: 'track' }, el('div', {}, mark, ceiling)),
    el('td', { class: 'number' }, timeText(bar.ns)),
    !scale.isAlone && el('td', { class: 'number' }, bar.kind === 'pick' ? '' : speedText(bar.ns / pick.time_ns)),
    scale.hasCeiling && el('td', { class: 'number muted' }, ceilingShare(pick, bar)));
}

// How much of the ceiling's rate the time amounts to.
function ceilingShare(pick: Pick, bar: Bar): string {
  return pick.ceiling === null ? '' : percentText(pick.ceiling.fraction * pick.time_ns / bar.ns, 0);
}

// What the columns of figures are.
function columnHeads(scale: Scale): HTMLElement {
  const head = (text: string, title: string) => el('th', { scope: 'col', class: 'number', title }, text);
  return el('thead', {}, el('tr', {},
    el('td', {}), el('td', { class: 'track' }), head('time', 'the median time of a launch'),
    !scale.isAlone && head('vs pick', 'the time divided by that of the pick'),
    scale.hasCeiling && head('of ceiling', 'how much of the rate of the nearest measured ceiling this time amounts to')));
}

function sentence(scale: Scale, picks: readonly Pick[]): string {
  const cut = scale.end === kLongest ? ' Torn bars are longer.' : '';
  const names = 'With these results programs run the pick, without them the default.';
  if (scale.isAlone) return 'Shorter is faster. There is no time of a default, of another implementation or of a ceiling to compare with.';
  if (!scale.hasCeiling) return `Shorter is faster. ${names} Each problem has its own scale.${cut}`;
  const kinds = new Set(picks.map((pick) => pick.ceiling?.name.replace(/ of .*/, '') ?? ''));
  const what = kinds.size === 1 && kinds.has('copy') ? 'a copy of the same number of bytes' : 'the nearest measured ceiling';
  return `Shorter is faster. ${names} The line is the ceiling: ${what}.${cut}`;
}

export function timesChart(state: State): View {
  const body = el('table', { class: 'times' });
  const words = el('p', { class: 'summary' });
  const more = el('div');
  const element = el('article', { id: 'times' }, el('h3', {}, 'Time of each problem'), words, body, more);
  let all = false;

  function draw(): void {
    const { report, group } = state;
    const picks = [...report.picks].sort((a, b) => gain(state, b) - gain(state, a));
    const isEmulated = (pick: Pick) => at(report.gpus, at(report.problems, pick.problem).gpu).emulation;
    const shown: Pick[] = [];
    let lines = 0;
    for (const pick of picks) {
      lines += 1 + bars(state, pick).length;
      if (!all && shown.length > 0 && lines > kLinesAtFirst) break;
      shown.push(pick);
    }
    const scale = scaleOf(state, shown);
    words.textContent = `${sentence(scale, shown)} ${sharedWordsText(report)}`.trim();
    const head = (pick: Pick): Child => {
      const problem = at(report.problems, pick.problem);
      const isCurrent = pick.problem === group?.problem && pick.method === group.method;
      return el('tr', { class: 'problem-name' }, el('th', { scope: 'rowgroup', colspan: 5 },
        button(shortProblemName(report, problem), { class: 'link', title: `${problem.operator} ${problem.problem}`, 'aria-current': isCurrent ? 'true' : undefined },
          () => state.chooseProblem(pick.problem, pick.method)),
        isEmulated(pick) && ' (emulation)'));
    };
    fill(body, el('caption', { class: 'offscreen' }, 'Time of the pick, the default and other implementations'),
      columnHeads(scale), ...shown.map((pick) => el('tbody', {}, head(pick), ...bars(state, pick).map((bar) => row(pick, bar, scale)))));
    fill(more, picks.length > shown.length && button(`Show all ${picks.length} problems`, {}, () => {
      all = true;
      draw();
    }));
  }

  return {
    element,
    update: () => {
      element.hidden = state.report.picks.length === 0;
      if (!element.hidden) draw();
    },
  };
}
