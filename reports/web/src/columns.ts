// What the page knows of the variants of one problem, column by column: typed arrays, so that a
// hundred thousand of them are filtered and sorted in milliseconds.

// Words from a short list: a design, a parameter's value, how a variant ended.
export interface CategoryColumn {
  readonly kind: 'category';
  readonly key: string;
  readonly title: string;
  readonly labels: readonly string[];  // in the order in which charts show them
  readonly codes: Int32Array;           // indices into labels; kAbsent: the variant has none
}

// Measured numbers.
export interface NumberColumn {
  readonly kind: 'number';
  readonly key: string;
  readonly title: string;
  readonly values: Float64Array;  // NaN: not known
  readonly text: (value: number) => string;
}

export type Column = CategoryColumn | NumberColumn;

export const kAbsent = -1;
export const kNoLabel = '';  // stands for absence where labels are chosen

export function labelAt(column: CategoryColumn, row: number): string {
  const code = column.codes[row] ?? kAbsent;
  return code === kAbsent ? '' : (column.labels[code] ?? '');
}

export function valueAt(column: NumberColumn, row: number): number {
  return column.values[row] ?? NaN;
}

export function textAt(column: Column, row: number): string {
  if (column.kind === 'category') return labelAt(column, row);
  const value = valueAt(column, row);
  return Number.isNaN(value) ? '' : column.text(value);
}

// What a table sorts by: codes follow the order of the labels, what is absent comes last.
export function orderAt(column: Column, row: number): number {
  if (column.kind === 'number') return valueAt(column, row);
  const code = column.codes[row] ?? kAbsent;
  return code === kAbsent ? NaN : code;
}

// How many rows have each label.
export function tally(column: CategoryColumn, mask: Uint8Array | null): Uint32Array {
  const counts = new Uint32Array(column.labels.length);
  for (let row = 0; row < column.codes.length; ++row) {
    const code = column.codes[row] ?? kAbsent;
    if (code !== kAbsent && (mask === null || mask[row] === 1)) counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}
