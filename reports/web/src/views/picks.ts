// The pick for every problem, against the default, the baseline and the ceiling.

import { button, el } from '../dom';
import { percentText, ratioText, timeText } from '../format';
import { at } from '../group';
import type { Pick } from '../report';
import type { State, View } from '../state';
import { allRows, Table, type TableColumn } from '../table';
import { badge, prose, Section } from './section';
import { gpuName, intervalText } from './verdict';

type Cells = Omit<TableColumn, 'text' | 'order' | 'cell'> & {
  readonly text: (pick: Pick) => string;
  readonly order?: (pick: Pick) => number | string;
  readonly cell?: (pick: Pick) => Node | string;
};

function speedText(pick: Pick): string {
  if (pick.speedup === null) return '';
  const interval = intervalText(pick.speedup_low, pick.speedup_high, ratioText);
  return interval === '' ? ratioText(pick.speedup) : `${ratioText(pick.speedup)} (${interval})`;
}

const kStandings = {
  faster: 'faster', tie: 'tie: default kept', default_fastest: 'default fastest', no_default: 'no default',
} as const;

function cells(state: State): readonly Cells[] {
  const { report } = state;
  const several = (values: readonly number[]) => new Set(values).size > 1;
  const isEmulated = (pick: Pick) => at(report.gpus, at(report.problems, pick.problem).gpu).emulation;
  const time = (pick: Pick, ns: number) =>
    isEmulated(pick) ? el('span', {}, timeText(ns), ' ', badge('emulation', 'emulation')) : timeText(ns);
  const problemName = (pick: Pick) => `${at(report.problems, pick.problem).operator} ${at(report.problems, pick.problem).problem}`;
  return [
    {
      key: 'problem', title: 'problem', text: problemName, order: (pick) => pick.problem,
      cell: (pick) => button(problemName(pick), { class: 'link' }, () => state.chooseProblem(pick.problem, pick.method)),
    },
    ...(several(report.picks.map((pick) => at(report.problems, pick.problem).gpu))
      ? [{ key: 'gpu', title: 'GPU', text: (pick: Pick) => gpuName(report, pick.problem) }] : []),
    ...(several(report.picks.map((pick) => pick.method))
      ? [{ key: 'method', title: 'method', text: (pick: Pick) => report.methods[pick.method]?.name ?? '' }] : []),
    { key: 'time', title: 'time', number: true, text: (pick) => timeText(pick.time_ns), order: (pick) => pick.time_ns, cell: (pick) => time(pick, pick.time_ns) },
    { key: 'interval', title: '95 %', text: (pick) => intervalText(pick.low_ns, pick.high_ns, timeText) },
    {
      key: 'default', title: 'default', number: true, text: (pick) => (pick.default_ns === null ? '' : timeText(pick.default_ns)),
      order: (pick) => pick.default_ns ?? NaN, cell: (pick) => (pick.default_ns === null ? '' : time(pick, pick.default_ns)),
    },
    { key: 'speedup', title: 'over default', number: true, text: speedText, order: (pick) => pick.speedup ?? NaN },
    { key: 'standing', title: 'standing', text: (pick) => kStandings[pick.standing], cell: (pick) => badge(kStandings[pick.standing], pick.standing === 'faster' ? 'ok' : '') },
    {
      key: 'baseline', title: 'over baseline', number: true,
      text: (pick) => (pick.baseline === null ? '' : `${ratioText(pick.baseline.speedup)} ${pick.baseline.verdict}`),
      order: (pick) => pick.baseline?.speedup ?? NaN,
    },
    {
      key: 'ceiling', title: 'of the ceiling', number: true, text: (pick) => pick.ceiling?.text ?? '',
      order: (pick) => pick.ceiling?.fraction ?? NaN,
    },
    { key: 'variant', title: 'variant', text: (pick) => pick.variant, cell: (pick) => el('div', { class: 'wide' }, el('code', {}, pick.variant)) },
    { key: 'noise', title: 'noise', number: true, text: (pick) => (pick.noise_floor === null ? '' : percentText(pick.noise_floor, 2)), order: (pick) => pick.noise_floor ?? NaN },
    { key: 'ties', title: 'tied with', number: true, text: (pick) => String(Math.max(0, pick.tied.length - 1)), order: (pick) => pick.tied.length },
    { key: 'limit', title: 'what limits it', text: (pick) => pick.limit, cell: (pick) => el('div', { class: 'wide' }, prose(pick.limit)) },
    { key: 'ok', title: 'variants', number: true, text: (pick) => String(pick.variants_ok + pick.variants_failed), order: (pick) => pick.variants_ok + pick.variants_failed },
    { key: 'failed', title: 'failed', number: true, text: (pick) => String(pick.variants_failed), order: (pick) => pick.variants_failed },
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
