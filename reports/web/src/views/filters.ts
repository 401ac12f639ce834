// Filters: the values of each parameter as check boxes, and ranges as fields. What the charts choose with the
// pointer can be chosen here with the keyboard.

import { type CategoryColumn, kNoLabel, tally } from '../columns';
import type { Constraint } from '../constraints';
import { el, fill } from '../dom';
import { countText } from '../format';
import { kOrderKey, kTimeKey } from '../group';
import type { State, View } from '../state';
import { variedParameters } from '../charts/parallel';

const kMostBoxes = 40;  // values of one parameter

interface Box {
  readonly column: CategoryColumn;
  readonly labels: readonly string[];
  readonly inputs: readonly HTMLInputElement[];
  readonly counts: readonly HTMLElement[];
}

function chosenLabels(state: State, key: string): ReadonlySet<string> {
  const constraint = state.selection.get(key);
  return constraint?.kind === 'values' ? constraint.labels : new Set();
}

function fieldset(state: State, column: CategoryColumn, boxes: Box[]): HTMLElement {
  const counts = tally(column, null);
  const labels = column.labels.filter((_, i) => (counts[i] ?? 0) > 0);
  if (column.codes.includes(-1) && column.key !== 'outcome') labels.push(kNoLabel);
  const inputs = labels.map((label) => {
    const input = el('input', { type: 'checkbox' });
    input.addEventListener('change', () => {
      const chosen = new Set(chosenLabels(state, column.key));
      if (input.checked) chosen.add(label);
      else chosen.delete(label);
      state.selection.setOne(column.key, chosen.size === 0 ? null : { kind: 'values', labels: chosen });
    });
    return input;
  });
  const numbers = labels.map(() => el('span', { class: 'muted' }));
  boxes.push({ column, labels, inputs, counts: numbers });
  return el('fieldset', {}, el('legend', {}, column.title), ...labels.map((label, i) =>
    el('label', {}, inputs[i], label === kNoLabel ? 'none' : label, ' ', numbers[i])));
}

interface Range {
  readonly title: string;
  readonly key: string;
  readonly scale: () => number;  // from what is typed to the column's unit
}

// Two fields; an empty one is no bound.
function rangeFields(state: State, range: Range, refreshers: (() => void)[]): HTMLElement {
  const [low, high] = [el('input', { type: 'number', step: 'any' }), el('input', { type: 'number', step: 'any' })];
  const read = (input: HTMLInputElement, none: number) => (input.value === '' ? none : Number(input.value) * range.scale());
  const changed = () => {
    const wish: Constraint = { kind: 'range', low: read(low, -Infinity), high: read(high, Infinity) };
    state.selection.setOne(range.key, low.value === '' && high.value === '' ? null : wish);
  };
  for (const input of [low, high]) input.addEventListener('change', changed);
  refreshers.push(() => {
    const constraint = state.selection.get(range.key);
    const show = (value: number) => (Number.isFinite(value) ? String(Number((value / range.scale()).toPrecision(6))) : '');
    low.value = constraint?.kind === 'range' ? show(constraint.low) : '';
    high.value = constraint?.kind === 'range' ? show(constraint.high) : '';
  });
  return el('fieldset', {}, el('legend', {}, range.title), el('label', {}, 'from ', low), el('label', {}, 'to ', high));
}

export function filtersPanel(state: State): View {
  let boxes: Box[] = [];
  let refreshers: (() => void)[] = [];
  const body = el('div', { class: 'filters' });
  const element = el('details', { class: 'panel' }, el('summary', {}, 'Choose by value'), body);

  function refresh(): void {
    if (!element.open) return;
    for (const { column, labels, inputs, counts } of boxes) {
      const chosen = chosenLabels(state, column.key);
      const numbers = tally(column, state.selection.maskWithout([column.key]));
      labels.forEach((label, i) => {
        const input = inputs[i];
        const count = counts[i];
        if (input !== undefined) input.checked = chosen.has(label);
        if (count !== undefined) count.textContent = label === kNoLabel ? '' : countText(numbers[column.labels.indexOf(label)] ?? 0);
      });
    }
    for (const each of refreshers) each();
  }

  element.addEventListener('toggle', refresh);
  state.selection.listen(refresh);
  return {
    element,
    update: () => {
      const { group } = state;
      boxes = [];
      refreshers = [];
      if (group === null) return;
      const columns = [...variedParameters(group), group.outcome].filter((each) => each.labels.length <= kMostBoxes);
      fill(body,
        ...columns.map((column) => fieldset(state, column, boxes)),
        rangeFields(state, { title: group.emulation ? 'time in us (emulation)' : 'time in us', key: kTimeKey, scale: () => 1000 }, refreshers),
        rangeFields(state, { title: 'evaluation', key: kOrderKey, scale: () => 1 }, refreshers));
      refresh();
    },
  };
}
