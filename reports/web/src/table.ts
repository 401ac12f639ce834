// Table: sortable, filterable, and cheap at a hundred thousand rows. A long table draws only the rows
// in sight, between two spacers as high as the others; a short one stands in full, so that it prints.

import { button, type Child, el, fill, freshId, setAttribute } from './dom';
import { counted } from './format';
import { type Actor, stage } from './stage';

export interface TableColumn {
  readonly key: string;
  readonly title: string;
  readonly number?: boolean;                          // aligned to the right
  readonly text: (row: number) => string;             // what is shown, and what the filter looks at
  readonly order?: (row: number) => number | string;  // what is sorted by; NaN comes last
  readonly cell?: (row: number) => Child;             // shown instead of the text
}

export interface TableOptions {
  readonly caption: string;
  readonly filter?: boolean;                      // a text field that keeps the rows that have all its words
  readonly filterFrom?: number;                   // rows; fewer have no field
  readonly pick?: (row: number) => void;          // a row was clicked
  readonly rowClass?: (row: number) => string;
}

const kFullRows = 200;  // up to here all rows stand in the document
const kRowHeight = 30;  // px, as in page.css; rows of a long table never wrap
const kWindowRows = 22; // in sight, at the height that page.css gives the box
const kSpareRows = 12;  // drawn beyond each edge of the window

export class Table implements Actor {
  readonly element: HTMLElement;
  private readonly caption = el('caption');
  private readonly head = el('tr');
  private readonly body = el('tbody');
  private readonly table = el('table');
  readonly box: HTMLElement;
  private readonly filterField = el('input', { type: 'search', placeholder: 'Filter', spellcheck: 'false' });
  private columns: readonly TableColumn[] = [];
  private given: Uint32Array = new Uint32Array(0);
  private shown: Uint32Array<ArrayBuffer> = new Uint32Array(0);
  private sortKey: string | null = null;
  private descending = false;
  private drawnHead = '';
  private drawnFrom = -1;
  private scrolled = 0;  // px; asking the box for it would lay the page out

  constructor(private readonly options: TableOptions) {
    const captionId = freshId('caption');
    this.caption.id = captionId;
    this.table.append(this.caption, el('thead', {}, this.head), this.body);
    this.box = el('div', { class: 'scroll', role: 'group', tabindex: 0, 'aria-labelledby': captionId }, this.table);
    this.box.addEventListener('scroll', () => {
      this.scrolled = this.box.scrollTop;
      this.drawWindow(false);
    }, { passive: true });
    this.body.addEventListener('click', (event) => this.clicked(event));
    this.filterField.addEventListener('input', () => this.arrange(true));
    setAttribute(this.filterField, 'aria-label', `Filter: ${options.caption}`);
    this.element = el('div', { class: 'table' }, options.filter && this.filterField, this.box);
  }

  // The columns and the rows to show, in the order in which they stand unless sorted. A column whose
  // texts are all empty is left out of a table that is short enough to look.
  set(columns: readonly TableColumn[], rows: Uint32Array): void {
    const isEmpty = (column: TableColumn) =>
      rows.length > 0 && rows.length <= kFullRows && rows.every((row) => column.text(row) === '');
    this.columns = columns.filter((column) => !isEmpty(column));
    this.given = rows;
    this.filterField.hidden = rows.length < (this.options.filterFrom ?? 0);
    if (!this.columns.some((column) => column.key === this.sortKey)) this.sortKey = null;
    this.drawHead();
    this.arrange(false);
  }

  // Other rows, the same columns.
  setRows(rows: Uint32Array): void {
    this.given = rows;
    this.arrange(true);
  }

  // Draws again what is in sight: something that rows show has changed. A long table waits until it is seen.
  redraw(): void {
    if (this.isLong()) {
      stage.add(this);
      stage.invalidate(this);
    } else {
      this.drawWindow(true);
    }
  }

  draw(): void {
    if (this.isLong()) this.drawWindow(true);
  }

  scrollTo(row: number): void {
    const place = this.shown.indexOf(row);
    if (place < 0 || !this.isLong()) return;
    this.box.scrollTop = Math.max(0, (place - 3) * kRowHeight);
  }

  private isLong(): boolean {
    return this.shown.length > kFullRows;
  }

  private drawHead(): void {
    const shown = JSON.stringify([this.columns.map((column) => column.title), this.sortKey, this.descending]);
    if (shown === this.drawnHead) return;  // whoever is in a header stays there
    this.drawnHead = shown;
    fill(this.head, ...this.columns.map((column) => {
      const cell = el('th', { scope: 'col', class: column.number === true ? 'number' : undefined });
      if (column.order === undefined) cell.textContent = column.title;
      else cell.append(button(column.title, {}, () => this.sortBy(column.key)));
      if (column.key === this.sortKey) setAttribute(cell, 'aria-sort', this.descending ? 'descending' : 'ascending');
      return cell;
    }));
  }

  private sortBy(key: string): void {
    if (this.sortKey !== key) {
      this.sortKey = key;
      this.descending = false;
    } else if (!this.descending) {
      this.descending = true;
    } else {
      this.sortKey = null;
    }
    this.drawHead();
    this.arrange(true);
    const place = this.columns.findIndex((column) => column.key === key);
    this.head.children[place]?.querySelector('button')?.focus();
  }

  // Filters and sorts; `fromTop` shows the first rows then.
  private arrange(fromTop: boolean): void {
    const words = this.filterField.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
    const matches = (row: number) => {
      const text = this.columns.map((column) => column.text(row)).join(' ').toLowerCase();
      return words.every((word) => text.includes(word));
    };
    this.shown = words.length > 0 ? this.given.filter(matches) : this.given.slice();
    const order = this.columns.find((column) => column.key === this.sortKey)?.order;
    if (order !== undefined) this.shown = sortRows(this.shown, order, this.descending);
    fill(this.caption, this.options.caption, el('span', { class: 'muted' }, ` ${counted(this.shown.length, 'row')}`));
    this.box.classList.toggle('long', this.isLong());
    setAttribute(this.table, 'aria-rowcount', this.isLong() ? this.shown.length + 1 : undefined);
    if (fromTop && this.scrolled > 0) this.box.scrollTop = this.scrolled = 0;
    this.redraw();
  }

  private drawWindow(anew: boolean): void {
    const long = this.isLong();
    const top = Math.floor(this.scrolled / kRowHeight);
    const first = long ? Math.max(0, Math.min(top, this.shown.length - kWindowRows) - kSpareRows) : 0;
    if (!anew && (!long || Math.abs(first - this.drawnFrom) < kSpareRows / 2)) return;
    this.drawnFrom = first;
    const end = long ? Math.min(this.shown.length, first + kWindowRows + 2 * kSpareRows) : this.shown.length;
    const rows: Child[] = [spacer(first)];
    for (let place = first; place < end; ++place) rows.push(this.row(this.shown[place] ?? 0, place, long));
    rows.push(spacer(this.shown.length - end));
    fill(this.body, ...rows);
  }

  private row(row: number, place: number, long: boolean): HTMLElement {
    const line = el('tr', {
      'aria-rowindex': long ? place + 2 : undefined,
      'data-row': row,
      class: this.options.rowClass?.(row) || undefined,
    });
    this.columns.forEach((column, i) => {
      const attributes = { class: column.number === true ? 'number' : undefined, 'data-title': column.title };
      const content = column.cell?.(row) ?? column.text(row);
      line.append(i === 0 ? el('th', { scope: 'row', ...attributes }, content) : el('td', attributes, content));
    });
    return line;
  }

  private clicked(event: MouseEvent): void {
    if (!(event.target instanceof Element) || event.target.closest('button, a') !== null) return;
    const row = event.target.closest('tr')?.dataset['row'];
    if (row !== undefined) this.options.pick?.(Number(row));
  }
}

function spacer(rows: number): HTMLElement | null {
  if (rows <= 0) return null;
  const line = el('tr', { 'aria-hidden': 'true', class: 'spacer' });
  line.style.height = `${rows * kRowHeight}px`;
  return line;
}

// Stable; what has no number comes last in both directions.
function sortRows(
  rows: Uint32Array<ArrayBuffer>, order: (row: number) => number | string, descending: boolean,
): Uint32Array<ArrayBuffer> {
  const found = Array.from(rows, order);
  const texts = [...new Set(found)].filter((key) => typeof key === 'string').sort();
  const ranks = new Map(texts.map((text, rank) => [text, rank]));
  const keys = Float64Array.from(found, (key) => {
    const value = typeof key === 'string' ? (ranks.get(key) ?? NaN) : key;
    return Number.isNaN(value) ? Infinity : descending ? -value : value;
  });
  const places = Uint32Array.from(rows.keys());
  places.sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0) || a - b);
  return places.map((place) => rows[place] ?? 0);
}

export function allRows(count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, row) => row);
}

// A table of rows that are all at hand.
export function plainTable<T>(
  options: TableOptions,
  items: readonly T[],
  columns: readonly {
    readonly title: string;
    readonly number?: boolean;
    readonly text: (item: T) => string;
    readonly order?: (item: T) => number | string;
    readonly cell?: (item: T) => Child;
  }[],
): HTMLElement {
  const table = new Table(options);
  const item = (row: number) => items[row] as T;
  table.set(columns.map(({ title, number, text, order, cell }, i) => ({
    key: String(i), title, number, text: (row: number) => text(item(row)),
    order: (row: number) => (order ?? text)(item(row)),
    cell: cell && ((row: number) => cell(item(row))),
  })), allRows(items.length));
  return table.element;
}
