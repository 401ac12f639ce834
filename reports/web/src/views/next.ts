// What a reader may try next for the pick in sight, in one sentence with the command that does it.

import { commandLine, rerunCommand } from '../commands';
import { type Child, el } from '../dom';
import { percentText, timeText } from '../format';
import { at } from '../group';
import { peerName, peersOf } from '../peers';
import type { State } from '../state';

const kNearCeiling = 0.95;
const kLateShare = 0.75;  // of the evaluations: a best that comes later may not be the last

function step(text: string, command = ''): Child {
  return el('div', { class: 'next' }, el('p', {}, text), command !== '' && commandLine(command));
}

// Whether the search ended while it still found something.
function isFoundLate(state: State): boolean {
  const best = state.report.best_so_far.find((each) => each.problem === state.group?.problem && each.method === state.group.method);
  const last = best?.steps.at(-1);
  return best !== undefined && last !== undefined && best.steps.length > 1 && last.evaluation > kLateShare * best.evaluations;
}

export function nextSteps(state: State): Child {
  const { report, problem, pick } = state;
  if (problem === null || pick === undefined) return null;
  if (at(report.gpus, problem.gpu).emulation) {
    return step('Sweep it on a GPU. What won here says nothing about one.', `mgtune sweep ${problem.operator} --gpu auto`);
  }
  const [peer] = peersOf(report, pick);
  const counted = report.counters.some((each) => each.problem === pick.problem);
  const again = pick.sweep === null ? '' : (report.sweeps[pick.sweep]?.repeat ?? '');
  if (isFoundLate(state) && again !== '') {
    return step('The best came late in the search. The same command with a longer --budget goes on from here:', again);
  }
  if (pick.ceiling !== null && pick.ceiling.fraction >= kNearCeiling) {
    return step(`Another shape, or another kernel: at ${percentText(pick.ceiling.fraction, 0)} of the ${pick.ceiling.name} little is left here. `
      + 'Only work that is left out would help, for example if this kernel also did what the one before it or after it does.');
  }
  if (peer !== undefined && peer.median_ns < pick.time_ns) {
    return step(`Use ${peerName(peer)} for this problem until a design is found that beats its ${timeText(peer.median_ns)}.`);
  }
  if (!counted && problem.rerun !== '') {
    return step('Count what limits the pick (most drivers let only root read the counters):', rerunCommand(problem.rerun, pick.variant));
  }
  return again === '' ? null : step('A longer sweep, which goes on from here:', again);
}
