// The table of the chosen variants, and all that is known of the one that is looked at.

import { type CategoryColumn, labelAt, orderAt, textAt, valueAt, type Column } from '../columns';
import { commandLine, copyButton, type PrintForm, printCommand, rerunCommand } from '../commands';
import { kAnyColumn } from '../constraints';
import { button, type Child, Chooser, el, fill } from '../dom';
import { bytesText, counted, countText, numberText, speedText, timeRange, timeText } from '../format';
import { groupRow, outcomeName } from '../group';
import { kDefault, kPick } from '../report';
import type { State, View } from '../state';
import { plainTable, Table, type TableColumn } from '../table';
import { ColumnChooser } from './column_chooser';
import { badge, facts, Section } from './section';
import { counterTitle } from '../charts/counters';
import { finalOf } from '../charts/finals';

// The order of the document.
const kCaption = 'Chosen variants: the fastest first (finalists by the final), then those that were slower and stopped early, then failures';
// Figures of the build and of the check beside those of the pick.
const kCompared: readonly string[] = ['final', 'registers', 'spills', 'shared', 'code', 'ptx', 'occupancy', 'error'];
const kHiddenAtFirst = ['code', 'ptx', 'low', 'high', 'q1', 'q3', 'samples', 'order', 'seconds'];

// Columns without a single value are left out.
function isEmpty(column: Column): boolean {
  return column.kind === 'number'
    ? column.values.every((value) => Number.isNaN(value))
    : column.codes.every((code) => code === -1);
}

function columnsOf(state: State): readonly TableColumn[] {
  const { group } = state;
  if (group === null) return [];
  const place: TableColumn = {
    key: 'row', title: '#', number: true, text: (row) => String(row + 1), order: (row) => row,
    cell: (row) => button(String(row + 1), { class: 'link', 'aria-label': `Look at variant ${row + 1}` }, () => state.selection.look(row)),
  };
  const copy: TableColumn = {
    key: 'copy', title: 'run again', text: () => 'Copy',
    cell: (row) => copyButton('Copy', () => rerunOf(state, row), `Copy the command line that runs variant ${row + 1} again`),
  };
  const columns = group.columns.filter((column) => !isEmpty(column)).map((column): TableColumn => ({
    key: column.key,
    title: group.emulation && column.key === group.time.key ? 'time (emulation)' : column.title,
    number: column.kind === 'number',
    text: (row) => textAt(column, row),
    order: (row) => (column === group.time ? timeOrder(state, row) : orderAt(column, row)),
    cell: column === group.outcome ? (row) => badge(labelAt(group.outcome, row), outcomeKind(state, row)) : undefined,
  }));
  return [place, ...(state.problem?.rerun === '' ? [] : [copy]), ...columns];
}

// A variant that was stopped early has a rough time only: it comes after all that were timed in full.
function timeOrder(state: State, row: number): number {
  const { group } = state;
  if (group === null) return NaN;
  const isStopped = labelAt(group.outcome, row) === outcomeName('raced_out');
  return valueAt(group.time, row) + (isStopped ? 1e15 : 0);
}

function outcomeKind(state: State, row: number): string {
  const outcome = state.group === null ? '' : labelAt(state.group.outcome, row);
  if (outcome === 'ok') return state.group?.emulation === true ? '' : 'ok';
  return state.report.counts.some((each) => outcomeName(each.outcome) === outcome && each.failed) ? 'bad' : '';
}

function rerunOf(state: State, row: number): string {
  return rerunCommand(state.problem?.rerun ?? '', state.variant(row));
}

function rowClass(state: State, row: number): string {
  const flags = state.group?.flags[row] ?? 0;
  const classes = [row === state.selection.focus && 'current', (flags & kPick) !== 0 && 'pick', (flags & kDefault) !== 0 && 'default'];
  return classes.filter((each) => each !== false).join(' ');
}

// The finalists first, as the final ranks them, because single measurements drift; then the others in the order of the document.
export function chosenRows(state: State): Uint32Array {
  const { mask, count } = state.selection;
  const rows = new Uint32Array(count);
  const finalTime = finalTimes(state);
  const isFinalist = (row: number) => !Number.isNaN(finalTime[row] ?? NaN);
  let next = 0;
  for (let row = 0; row < finalTime.length; ++row) {
    if (mask[row] === 1 && isFinalist(row)) rows[next++] = row;
  }
  rows.subarray(0, next).sort((a, b) => (finalTime[a] ?? NaN) - (finalTime[b] ?? NaN));
  for (let row = 0; row < mask.length; ++row) {
    if (mask[row] === 1 && !isFinalist(row)) rows[next++] = row;
  }
  return rows;
}

function finalTimes(state: State): Float64Array {
  const column = state.group?.columns.find((each) => each.key === 'final');
  return column?.kind === 'number' ? column.values : new Float64Array();
}

export function variantsTable(state: State): Table {
  const table = new Table({
    caption: kCaption, rowClass: (row) => rowClass(state, row), pick: (row) => state.selection.look(row),
  });
  table.set(columnsOf(state), chosenRows(state));
  return table;
}

export function variantsView(state: State): View {
  const columns = new ColumnChooser(kHiddenAtFirst, () => table.set(shownColumns(), chosenRows(state)));
  const shownColumns = () => columnsOf(state).filter((each) => columns.shows(each.key));
  const table = new Table({
    caption: kCaption, rowClass: (row) => rowClass(state, row), pick: (row) => state.selection.look(row),
  });
  const words = el('input', {
    type: 'search', spellcheck: 'false', placeholder: 'Words: a design, VEC=8, wrong', 'aria-label': 'Choose variants that have these words',
  });
  const detail = el('div', { class: 'detail', 'aria-live': 'polite' });
  const section = new Section('variants', 'Variants', el('div', { class: 'controls' }, words), columns.element, detail, table.element);
  let waiting = 0;
  words.addEventListener('input', () => {
    window.clearTimeout(waiting);
    waiting = window.setTimeout(() => {
      const text = words.value.trim();
      state.selection.setOne(kAnyColumn, text === '' ? null : { kind: 'words', text });
    }, 120);
  });

  let chosen = state.selection.mask;
  let focus: number | null = null;
  state.selection.listen(() => {
    const constraint = state.selection.get(kAnyColumn);
    if (document.activeElement !== words) words.value = constraint?.kind === 'words' ? constraint.text : '';
    if (state.selection.mask !== chosen) {
      chosen = state.selection.mask;
      table.setRows(chosenRows(state));
    }
    if (state.selection.focus === focus) return;
    focus = state.selection.focus;
    fill(detail, focus !== null && detailOf(state, focus));
    table.redraw();
    if (focus !== null) table.scrollTo(focus);
  });
  return {
    element: section.element,
    update: () => {
      if (state.group === null) {
        section.note('No variant has been evaluated yet.');
        return;
      }
      section.show(true);
      chosen = state.selection.mask;
      focus = null;
      fill(detail);
      columns.offer(columnsOf(state).filter((each) => each.order !== undefined));
      table.set(shownColumns(), chosenRows(state));
    },
  };
}

// What differs between the pick and this variant: parameters, then figures.
function againstPick(state: State, row: number): Child {
  const { group, pick, report } = state;
  const other = group === null || pick === undefined ? null : groupRow(report, group, pick.row);
  if (group === null || other === null || other === row) return null;
  const word = (column: CategoryColumn, of: number) => labelAt(column, of) || 'none';
  const figures = [group.time, ...group.columns.filter((column) => kCompared.includes(column.key))];
  const lines = [
    ...group.parameters.map((column) => [column.title, word(column, other), word(column, row)] as const),
    ...figures.map((column) => [column.title, textAt(column, other), textAt(column, row)] as const),
    ...countersAgainstPick(state, other, row),
  ].filter(([, of, here]) => of !== here && of !== '' && here !== '');
  const slower = valueAt(group.ranked, row) / valueAt(group.ranked, other);
  const caption = `Against the pick${Number.isNaN(slower) ? '' : `: ${speedText(slower)} its time`}`;
  return plainTable({ caption }, lines, [
    { title: 'differs in', text: ([name]) => name },
    { title: 'pick', number: true, text: ([, of]) => of },
    { title: 'this', number: true, text: ([, , here]) => here },
  ]);
}

// The counters of both, where both were counted.
function countersAgainstPick(state: State, pick: number, row: number): readonly (readonly [string, string, string])[] {
  const { group, problem, report } = state;
  if (group === null || problem === null) return [];
  const of = (each: number) => report.counters.find((one) => one.row === problem.first + (group.source[each] ?? -1));
  const [ours, here] = [of(pick), of(row)];
  if (ours === undefined || here === undefined) return [];
  return ours.values.map((each) => [counterTitle(each.name), numberText(each.value),
    numberText(here.values.find((one) => one.name === each.name)?.value ?? null)] as const);
}

type Printed = readonly [string, PrintForm, string];  // title, --print, more words about it

const kForms: readonly [Printed, ...Printed[]] = [
  ['Source', 'cuda', 'the source and the instantiation that is compiled'],
  ['PTX', 'ptx', ''],
  ['SASS', 'sass', ''],
  ['Build command', 'command', 'the shell command that makes the build, whose output is the whole compile log'],
];

// The database has sizes and the log, but neither source nor code: which command prints them, for one form after the other.
function printing(state: State, row: number): Child {
  const { problem } = state;
  const command = (form: PrintForm) => printCommand(problem?.rerun ?? '', state.variant(row), form);
  if (command('cuda') === '') return null;
  const line = el('div');
  const words = el('p', { class: 'note' });
  const chooser = new Chooser('What was compiled', (value) => show(value));
  function show(value: string): void {
    const [title, form, what] = kForms.find((each) => each[1] === value) ?? kForms[0];
    chooser.offer(kForms.map((each) => ({ value: each[1], text: each[0] })), form);
    words.textContent = `Prints ${what === '' ? `the ${title} of this variant` : what}. The GPU need not be in the machine.${isSized(state, row) ? '' : ' For the size, add: | wc -c'}`;
    fill(line, commandLine(command(form)));
  }
  show('cuda');
  return el('div', { class: 'printing' }, chooser.element, line, words);
}

// Whether the database has the sizes of the code: mgtune kept none up to format 5 of its database.
function isSized(state: State, row: number): boolean {
  const { group, problem } = state;
  return !Number.isNaN(problem?.variants.code_bytes[group?.source[row] ?? -1] ?? NaN);
}

// An instruction has 16 bytes from sm_70 on.
function codeText(bytes: number): string {
  return Number.isNaN(bytes) ? '' : `${bytesText(bytes)}, ${counted(bytes / 16, 'instruction')}`;
}

function detailOf(state: State, row: number): Child {
  const { group, problem, report } = state;
  if (group === null || problem === null) return null;
  const source = group.source[row] ?? -1;
  const { variants } = problem;
  const real = (values: Float64Array | undefined) => values?.[source] ?? NaN;
  const time = (values: Float64Array) => (Number.isNaN(real(values)) ? '' : timeText(real(values)));
  const command = rerunOf(state, row);
  const launch = report.counters.find((each) => each.row === problem.first + source);
  const finalist = finalOf(state)?.finalists.find((each) => each.row === problem.first + source);
  const error = real(variants.error);
  const mark = group.columns.find((column) => column.key === 'mark');
  const message = labelAt(group.message, row);
  const log = report.compile_logs[variants.log[source] ?? -1];
  return el('article', { class: 'winner' },
    el('h3', {}, `Variant ${row + 1}`, ' ', badge(labelAt(group.outcome, row), outcomeKind(state, row)),
      group.emulation && ' ', group.emulation && badge('emulation', 'emulation')),
    el('p', { class: 'variant' }, el('code', {}, state.variant(row))),
    facts(
      ['What it is', mark === undefined ? '' : textAt(mark, row)],
      ['Time', time(variants.median_ns)],
      ['95 %', Number.isNaN(real(variants.low_ns)) ? '' : timeRange(real(variants.low_ns), real(variants.high_ns))],
      ['Quartiles', Number.isNaN(real(variants.q1_ns)) ? '' : `${timeRange(real(variants.q1_ns), real(variants.q3_ns))}, least ${time(variants.min_ns)}`],
      ['Samples', Number.isNaN(real(variants.samples)) ? '' : countText(real(variants.samples))],
      ['In the final', finalist === undefined ? '' : `${timeText(finalist.median_ns)} (95 %: ${timeRange(finalist.low_ns, finalist.high_ns)}), `
        + `${speedText(finalist.ratio)} the time of the default`],
      ['Of the fastest', Number.isNaN(valueAt(group.ranked, row)) ? '' : speedText(valueAt(group.ranked, row) / group.fastest_ns)],
      ['Error', Number.isNaN(error) ? '' : `${error.toExponential(1)}${problem.tolerance === null ? '' : `, up to ${problem.tolerance.toExponential(1)} passes`}`],
      ['Registers', Number.isNaN(real(variants.registers)) ? '' : numberText(real(variants.registers))],
      ['Spilled', Number.isNaN(real(variants.spill_bytes)) ? '' : bytesText(real(variants.spill_bytes))],
      ['Static shared memory', Number.isNaN(real(variants.static_shared_bytes)) ? '' : bytesText(real(variants.static_shared_bytes))],
      ['PTX', Number.isNaN(real(variants.ptx_bytes)) ? '' : bytesText(real(variants.ptx_bytes))],
      ['SASS', codeText(real(variants.code_bytes))],
    ),
    message !== '' && el('pre', {}, message),
    againstPick(state, row),
    log !== undefined && el('details', {}, el('summary', {}, 'Compile log'), el('pre', {}, log)),
    printing(state, row),
    launch !== undefined && el('details', {}, el('summary', {}, 'Counters of one launch'),
      facts(...launch.values.map((each) => [counterTitle(each.name), numberText(each.value)] as const))),
    el('div', { class: 'controls' },
      command !== '' && copyButton('Copy the command line', () => command),
      button('Close', {}, () => state.selection.look(null))));
}
