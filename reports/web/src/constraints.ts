// What a person has asked of the variants: one constraint per column, in values rather than in row
// numbers, so that it can be asked again of another problem or of the next document of a sweep.

import { type Column, kAbsent, kNoLabel } from './columns';
import { shortNumber } from './format';

export interface Values {
  readonly kind: 'values';
  readonly labels: ReadonlySet<string>;
}

export interface Range {
  readonly kind: 'range';
  readonly low: number;
  readonly high: number;
}

// Every word occurs in some text of the row: "bulk VEC=8".
export interface Words {
  readonly kind: 'words';
  readonly text: string;
}

export type Constraint = Values | Range | Words;

// The key of the constraint that looks at all columns.
export const kAnyColumn = '*';

export function describe(key: string, column: Column | undefined, constraint: Constraint): string {
  const name = column?.title ?? key;
  switch (constraint.kind) {
    case 'values': {
      const labels = [...constraint.labels].map((label) => (label === kNoLabel ? 'none' : label));
      const shown = labels.slice(0, 4).join(', ');
      return `${name}: ${labels.length > 4 ? `${shown} and ${labels.length - 4} more` : shown}`;
    }
    case 'range': {
      const text = column?.kind === 'number' ? column.text : shortNumber;
      if (constraint.low === -Infinity) return `${name} up to ${text(constraint.high)}`;
      if (constraint.high === Infinity) return `${name} from ${text(constraint.low)}`;
      return `${name}: ${text(constraint.low)} to ${text(constraint.high)}`;
    }
    case 'words':
      return `text: ${constraint.text}`;
  }
}

// 1 where the row meets the constraint.
export function maskOf(
  columns: readonly Column[],
  key: string,
  constraint: Constraint,
  rows: number,
): Uint8Array {
  if (constraint.kind === 'words') return maskOfWords(columns, constraint.text, rows);
  const column = columns.find((each) => each.key === key);
  const mask = new Uint8Array(rows);
  if (column === undefined) return mask.fill(1);
  if (column.kind === 'category' && constraint.kind === 'values') {
    const wanted = Uint8Array.from(column.labels, (label) => (constraint.labels.has(label) ? 1 : 0));
    const absent = constraint.labels.has(kNoLabel) ? 1 : 0;
    for (let row = 0; row < rows; ++row) mask[row] = wanted[column.codes[row] ?? kAbsent] ?? absent;
  } else if (column.kind === 'number' && constraint.kind === 'range') {
    const { low, high } = constraint;
    for (let row = 0; row < rows; ++row) {
      const value = column.values[row] ?? NaN;
      mask[row] = value >= low && value <= high ? 1 : 0;
    }
  }
  return mask;
}

// A word is looked up in each column's list of labels, not in each row.
function maskOfWords(columns: readonly Column[], text: string, rows: number): Uint8Array {
  const mask = new Uint8Array(rows).fill(1);
  for (const word of text.toLowerCase().split(/\s+/)) {
    if (word === '') continue;
    const matched = new Uint8Array(rows);
    for (const column of columns) {
      if (column.kind !== 'category') continue;
      const wanted = Uint8Array.from(column.labels, (label) =>
        label.toLowerCase().includes(word) || `${column.title}=${label}`.toLowerCase() === word ? 1 : 0);
      if (!wanted.includes(1)) continue;
      for (let row = 0; row < rows; ++row) {
        if (wanted[column.codes[row] ?? kAbsent] === 1) matched[row] = 1;
      }
    }
    for (let row = 0; row < rows; ++row) mask[row] = (mask[row] ?? 0) & (matched[row] ?? 0);
  }
  return mask;
}
