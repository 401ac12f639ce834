// The pick for every problem, against the default, the baseline and the ceiling.

import { button, el } from '../dom';
import { countText, percentText, speedText, timeRange, timeText } from '../format';
import { at } from '../group';
import type { Pick } from '../report';
import type { State, View } from '../state';
import { allRows, Table, type TableColumn } from '../table';
import { badge, prose, Section } from './section';
import { gpuName, isGain, speedInterval } from './verdict';

type Cells = Omit<TableColumn, 'text' | 'order' | 'cell'> & {
  readonly text: (pick: Pick) => string;
  readonly order?: (pick: Pick) => number | string;
  readonly cell?: (pick: Pick) => Node | string;
};

// Two lines of a cell: a figure, and what is known of it.
function under(figure: Node | string, detail: string): Node {
  return el('div', {}, figure, detail !== '' && el('small', {}, detail));
}

const kStandings = {
  faster: 'faster', tie: 'tie: default kept', default_fastest: 'the default is fastest', no_default: 'default not timed',
} as const;

function cells(state: State): readonly Cells[] {
  const { report } = state;
  const several = (values: readonly number[]) => new Set(values).size > 1;
  const isEmulated = (pick: Pick) => at(report.gpus, at(report.problems, pick.problem).gpu).emulation;
  const time = (pick: Pick, ns: number) =>
    isEmulated(pick) ? el('span', {}, timeText(ns), ' ', badge('emulation', 'emulation')) : timeText(ns);
  const evaluated = (pick: Pick) => at(report.problems, pick.problem).count;
  const problemName = (pick: Pick) => `${at(report.problems, pick.problem).operator} ${at(report.problems, pick.problem).problem}`;
  return [
    {
      key: 'problem', title: 'problem and pick', text: (pick) => `${problemName(pick)} ${pick.variant}`, order: (pick) => pick.problem,
      cell: (pick) => el('div', { class: 'found' },
        button(problemName(pick), { class: 'link' }, () => state.chooseProblem(pick.problem, pick.method)), el('code', {}, pick.variant)),
    },
    ...(several(report.picks.map((pick) => at(report.problems, pick.problem).gpu))
      ? [{ key: 'gpu', title: 'GPU', text: (pick: Pick) => gpuName(report, pick.problem) }] : []),
    ...(several(report.picks.map((pick) => pick.method))
      ? [{ key: 'method', title: 'method', text: (pick: Pick) => report.methods[pick.method]?.name ?? '' }] : []),
    { key: 'time', title: 'time', number: true, text: (pick) => timeText(pick.time_ns), order: (pick) => pick.time_ns, cell: (pick) => under(time(pick, pick.time_ns), timeRange(pick.low_ns, pick.high_ns)) },
    {
      key: 'default', title: 'default', number: true, text: (pick) => (pick.default_ns === null ? '' : timeText(pick.default_ns)),
      order: (pick) => pick.default_ns ?? NaN, cell: (pick) => (pick.default_ns === null ? '' : time(pick, pick.default_ns)),
    },
    {
      key: 'speedup', title: 'over default', number: true, order: (pick) => pick.speedup ?? NaN,
      text: (pick) => (isGain(pick) ? speedText(pick.speedup) : kStandings[pick.standing]),
      cell: (pick) => (isGain(pick)
        ? under(badge(speedText(pick.speedup), 'ok'), speedInterval(pick)) : badge(kStandings[pick.standing], '')),
    },
    {
      key: 'baseline', title: 'over baseline', number: true,
      text: (pick) => (pick.baseline === null ? '' : `${speedText(pick.baseline.speedup)} ${pick.baseline.verdict}`),
      order: (pick) => pick.baseline?.speedup ?? NaN,
    },
    {
      key: 'ceiling', title: 'reached', number: true, text: (pick) => pick.ceiling?.text ?? '',
      order: (pick) => pick.ceiling?.fraction ?? NaN,
      cell: (pick) => (pick.ceiling === null ? '' : under(percentText(pick.ceiling.fraction), `of the ${pick.ceiling.name}`)),
    },
    { key: 'limit', title: 'what limits it', text: (pick) => pick.limit, cell: (pick) => el('div', { class: 'wide' }, prose(pick.limit)) },
    { key: 'ties', title: 'tied with', number: true, text: (pick) => (pick.tied.length > 1 ? String(pick.tied.length - 1) : ''), order: (pick) => pick.tied.length },
    { key: 'noise', title: 'noise', number: true, text: (pick) => (pick.noise_floor === null ? '' : percentText(pick.noise_floor, 2)), order: (pick) => pick.noise_floor ?? NaN },
    { key: 'count', title: 'variants', number: true, text: (pick) => countText(evaluated(pick)), order: evaluated },
    { key: 'failed', title: 'failed', number: true, text: (pick) => (pick.variants_failed > 0 ? countText(pick.variants_failed) : ''), order: (pick) => pick.variants_failed },
  ];
}

export function picksView(state: State): View {
  const table = new Table({
    caption: 'The pick for each problem', filter: true,
    rowClass: (row) => (at(state.report.picks, row).problem === state.group?.problem ? 'current' : ''),
    pick: (row) => {
      const pick = at(state.report.picks, row);
      state.chooseProblem(pick.problem, pick.method);
    },
  });
  const section = new Section('picks', 'Picks',
    el('p', {}, 'Choose a problem to see its variants in the parts below.'), table.element);
  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'picks')) return;
      const pick = (row: number) => at(state.report.picks, row);
      table.set(cells(state).map(({ text, order, cell, ...rest }) => ({
        ...rest, text: (row: number) => text(pick(row)), order: (row: number) => (order ?? text)(pick(row)),
        cell: cell && ((row: number) => cell(pick(row))),
      })), allRows(state.report.picks.length));
    },
  };
}
