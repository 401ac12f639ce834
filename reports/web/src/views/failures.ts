// What failed, by kind and message, and what the rules ruled out before anything ran.

import { button, el, fill } from '../dom';
import { countText } from '../format';
import { at, outcomeName } from '../group';
import type { Report } from '../report';
import type { State, View } from '../state';
import { plainTable } from '../table';
import { badge, Section } from './section';

type Failure = Report['failures'][number];

export function failuresView(state: State): View {
  const failures = el('div');
  const pruning = el('div');
  const section = new Section('failures', 'Failures', failures);
  const pruned = new Section('pruning', 'What the constraints ruled out', pruning);
  return {
    element: el('div', {}, section.element, pruned.element),
    update: () => {
      const { report } = state;
      if (section.offer(report, 'failures')) fill(failures, failuresTable(state));
      if (!pruned.offer(report, 'pruning')) return;
      const { problem } = state;
      const rules = report.pruning.filter((each) =>
        each.gpu === problem?.gpu && each.operator === problem.operator && each.problem === problem.problem);
      if (rules.length === 0) {
        pruned.note('No combination of this problem was ruled out.');
        return;
      }
      fill(pruning, plainTable({ caption: 'Combinations of this problem that were never built, by the rule that they break' }, rules, [
        { title: 'design', text: (each) => each.design },
        { title: 'rule', text: (each) => each.rule, cell: (each) => el('code', {}, each.rule) },
        { title: 'combinations', number: true, text: (each) => countText(each.count), order: (each) => each.count },
      ]));
    },
  };
}

function failuresTable(state: State): HTMLElement {
  const { report } = state;
  const message = (each: Failure) => report.messages[each.message] ?? '';
  return plainTable({ caption: 'Failures, by kind and message', filter: true }, report.failures, [
    { title: 'kind', text: (each) => at(report.outcomes, each.outcome), cell: (each) => badge(at(report.outcomes, each.outcome), 'bad') },
    { title: 'variants', number: true, text: (each) => countText(each.count), order: (each) => each.count },
    { title: 'what it means', text: (each) => each.explanation },
    {
      title: 'message', text: (each) => each.headline,
      cell: (each) => (message(each) === '' || message(each) === each.headline
        ? el('span', { class: 'message' }, each.headline)
        : el('details', {}, el('summary', {}, each.headline), el('pre', {}, message(each)))),
    },
    {
      title: 'which', text: () => 'Choose',
      cell: (each) => button('Choose', { 'aria-label': `Choose the variants that failed so: ${each.headline}` }, () => choose(state, each)),
    },
  ]);
}

// Goes to the first problem that has such a failure, and chooses its variants that failed so.
function choose(state: State, failure: Failure): void {
  const { report } = state;
  const row = failure.rows[0] ?? -1;
  const problem = report.problems.findIndex((each) => row >= each.first && row < each.first + each.count);
  if (problem < 0) return;
  state.chooseProblem(problem, state.group?.problem === problem ? state.group.method : -1);
  const values = (label: string) => ({ kind: 'values', labels: new Set([label]) }) as const;
  state.selection.clear();
  state.selection.set(new Map([
    ['outcome', values(outcomeName(at(report.outcomes, failure.outcome)))],
    ['message', failure.message < 0 ? null : values(report.messages[failure.message] ?? '')],
  ]));
  document.getElementById('variants')?.scrollIntoView();
}
