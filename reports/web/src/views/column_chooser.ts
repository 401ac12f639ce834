// Which columns a table shows: a check box for each, some of them off at first.

import { el, fill } from '../dom';
import type { TableColumn } from '../table';

export class ColumnChooser {
  readonly element: HTMLElement;
  private readonly body = el('div', { class: 'filters' });
  private readonly wishes = new Map<string, boolean>();  // by key; kept for the next problem

  constructor(private readonly hiddenAtFirst: readonly string[], private readonly changed: () => void) {
    this.element = el('details', { class: 'panel columns' }, el('summary', {}, 'Columns'), this.body);
  }

  offer(columns: readonly TableColumn[]): void {
    fill(this.body, ...columns.map((column) => {
      const input = el('input', { type: 'checkbox' });
      input.checked = this.shows(column.key);
      input.addEventListener('change', () => {
        this.wishes.set(column.key, input.checked);
        this.changed();
      });
      return el('label', {}, input, ' ', column.title);
    }));
  }

  shows(key: string): boolean {
    return this.wishes.get(key) ?? !this.hiddenAtFirst.includes(key);
  }
}
