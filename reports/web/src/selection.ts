// Which variants are chosen, and which one is looked at. Every view reads and writes this one store:
// brushing an axis, clicking a cell of the heat map, and filtering the table all set constraints.

import type { Column } from './columns';
import { type Constraint, describe, maskOf } from './constraints';

export type Listener = () => void;

export interface Chip {
  readonly key: string;
  readonly text: string;
}

export class Selection {
  private columns: readonly Column[] = [];
  private rows = 0;
  private readonly constraints = new Map<string, Constraint>();
  private readonly masks = new Map<string, Uint8Array>();
  private readonly listeners = new Set<Listener>();

  // 1 where a variant is chosen; all are while nothing is asked for.
  mask = new Uint8Array(0);
  count = 0;
  // The variant that is looked at: a row, or null.
  focus: number | null = null;

  get active(): boolean {
    return this.masks.size > 0;
  }

  get chips(): readonly Chip[] {
    return [...this.masks.keys()].map((key) => ({
      key,
      text: describe(key, this.column(key), this.constraints.get(key) as Constraint),
    }));
  }

  // Other variants: what was asked for is asked again of them, where they have such a column.
  adopt(columns: readonly Column[], rows: number): void {
    this.columns = columns;
    this.rows = rows;
    this.focus = null;
    this.masks.clear();
    for (const [key, constraint] of this.constraints) this.apply(key, constraint);
    this.changed();
  }

  get(key: string): Constraint | undefined {
    return this.masks.has(key) ? this.constraints.get(key) : undefined;
  }

  // Several at once redraw the views once; null takes a constraint back.
  set(wishes: ReadonlyMap<string, Constraint | null>): void {
    for (const [key, constraint] of wishes) {
      this.masks.delete(key);
      this.constraints.delete(key);
      if (constraint === null) continue;
      this.constraints.set(key, constraint);
      this.apply(key, constraint);
    }
    this.changed();
  }

  setOne(key: string, constraint: Constraint | null): void {
    this.set(new Map([[key, constraint]]));
  }

  clear(): void {
    this.constraints.clear();
    this.masks.clear();
    this.focus = null;
    this.changed();
  }

  look(row: number | null): void {
    this.focus = row;
    this.notify();
  }

  // What would be chosen without the constraints on these columns: a view that shows a column's
  // values keeps showing those that are not chosen.
  maskWithout(keys: readonly string[]): Uint8Array {
    if (!keys.some((key) => this.masks.has(key))) return this.mask;
    return this.combine((key) => !keys.includes(key));
  }

  // The listener is called after each change, until the returned function is.
  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private column(key: string): Column | undefined {
    return this.columns.find((column) => column.key === key);
  }

  private apply(key: string, constraint: Constraint): void {
    if (constraint.kind !== 'words' && this.column(key) === undefined) return;
    this.masks.set(key, maskOf(this.columns, key, constraint, this.rows));
  }

  private combine(wanted: (key: string) => boolean): Uint8Array<ArrayBuffer> {
    const combined = new Uint8Array(this.rows).fill(1);
    for (const [key, mask] of this.masks) {
      if (!wanted(key)) continue;
      for (let row = 0; row < this.rows; ++row) combined[row] = (combined[row] ?? 0) & (mask[row] ?? 0);
    }
    return combined;
  }

  private changed(): void {
    this.mask = this.combine(() => true);
    this.count = this.mask.reduce((sum, bit) => sum + bit, 0);
    this.notify();
  }

  private notify(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
