// The pick for every problem, against the default, the baseline and the ceiling.

import { button, el } from '../dom';
import { countText, percentText, speedText, timeRange, timeText } from '../format';
import { at } from '../group';
import { peerName, peersOf } from '../peers';
import { sharedWordsText, shortProblemName } from '../problem_names';
import type { Pick, Report } from '../report';
import type { State, View } from '../state';
import { allRows, Table, type TableColumn } from '../table';
import { isGain, speedInterval } from './pick';
import { badge, Section } from './section';
import { gpuName } from './verdict';

const kFilterFrom = 10;  // picks

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

// "Memory bandwidth: 97 % of the copy rate" -> "memory bandwidth"
export function shortLimit(limit: string): string {
  const name = limit.split(':')[0]?.replace(/, perhaps$/, '?') ?? '';
  return name.charAt(0).toLowerCase() + name.slice(1);
}

// What else is known of a pick, under the number of its variants.
function notes(pick: Pick): string {
  return [
    pick.variants_failed > 0 && `${countText(pick.variants_failed)} failed`,
    pick.tied.length > 1 && `${countText(pick.tied.length - 1)} tied with it`,
  ].filter((each) => each !== false).join(', ');
}

function cells(state: State): readonly Cells[] {
  const { report } = state;
  const several = (values: readonly number[]) => new Set(values).size > 1;
  const isEmulated = (pick: Pick) => at(report.gpus, at(report.problems, pick.problem).gpu).emulation;
  const time = (pick: Pick, ns: number) =>
    isEmulated(pick) ? el('span', {}, timeText(ns), ' ', badge('emulation', 'emulation')) : timeText(ns);
  const evaluated = (pick: Pick) => at(report.problems, pick.problem).count;
  const problemName = (pick: Pick) => `${at(report.problems, pick.problem).operator} ${at(report.problems, pick.problem).problem}`;
  const peer = (pick: Pick) => peersOf(report, pick)[0];
  return [
    {
      key: 'problem', title: 'problem and pick', text: (pick) => `${problemName(pick)} ${pick.variant}`, order: (pick) => pick.problem,
      cell: (pick) => el('div', { class: 'found' },
        button(shortProblemName(report, at(report.problems, pick.problem)), { class: 'link', title: problemName(pick) }, () => state.chooseProblem(pick.problem, pick.method)), el('code', {}, pick.variant)),
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
        ? under(badge(speedText(pick.speedup), isEmulated(pick) ? 'emulation' : 'ok'), speedInterval(pick)) : badge(kStandings[pick.standing], '')),
    },
    {
      key: 'peer', title: 'fastest other', number: true, order: (pick) => (peer(pick)?.median_ns ?? NaN) / pick.time_ns,
      text: (pick) => {
        const each = peer(pick);
        return each === undefined ? '' : `${timeText(each.median_ns)} ${peerName(each)}`;
      },
      cell: (pick) => {
        const each = peer(pick);
        return each === undefined ? '' : under(`${timeText(each.median_ns)} (${speedText(each.median_ns / pick.time_ns)})`, peerName(each));
      },
    },
    {
      key: 'baseline', title: 'over baseline', number: true,
      text: (pick) => (pick.baseline === null ? '' : `${speedText(pick.baseline.speedup)} ${pick.baseline.verdict}`),
      order: (pick) => pick.baseline?.speedup ?? NaN,
    },
    {
      key: 'ceiling', title: 'of ceiling', number: true, text: (pick) => pick.ceiling?.text ?? '',
      order: (pick) => pick.ceiling?.fraction ?? NaN,
      cell: (pick) => (pick.ceiling === null ? '' : under(percentText(pick.ceiling.fraction), pick.ceiling.name)),
    },
    {
      key: 'limit', title: 'limited by', text: (pick) => shortLimit(pick.limit),
      cell: (pick) => el('span', { class: 'limit', title: pick.limit }, shortLimit(pick.limit)),
    },
    { key: 'count', title: 'variants', number: true, text: (pick) => countText(evaluated(pick)), order: evaluated, cell: (pick) => under(countText(evaluated(pick)), notes(pick)) },
  ];
}

// The words of the table that need one.
function explanation(report: Report): string {
  const { picks } = report;
  return [
    sharedWordsText(report),
    picks.some((pick) => pick.ceiling !== null) && 'The ceiling is the highest rate that was measured on this GPU: of a copy of as many bytes, or of arithmetic.',
    picks.some((pick) => pick.tied.length > 1) && 'Tied with it: variants that are as fast as the pick, as far as the final can tell.',
    picks.length > 1 && 'Choose a problem to see its variants in the parts below.',
  ].filter((each) => each !== false && each !== '').join(' ');
}

export function picksView(state: State): View {
  const table = new Table({
    caption: 'The pick for each problem', filter: true, filterFrom: kFilterFrom,
    rowClass: (row) => (at(state.report.picks, row).problem === state.group?.problem ? 'current' : ''),
    pick: (row) => {
      const pick = at(state.report.picks, row);
      state.chooseProblem(pick.problem, pick.method);
    },
  });
  const note = el('p', { class: 'note' });
  const section = new Section('picks', 'Picks', table.element, note);
  return {
    element: section.element,
    update: () => {
      if (!section.offer(state.report, 'picks')) return;
      note.textContent = explanation(state.report);
      const pick = (row: number) => at(state.report.picks, row);
      table.set(cells(state).map(({ text, order, cell, ...rest }) => ({
        ...rest, text: (row: number) => text(pick(row)), order: (row: number) => (order ?? text)(pick(row)),
        cell: cell && ((row: number) => cell(pick(row))),
      })), allRows(state.report.picks.length));
    },
  };
}
