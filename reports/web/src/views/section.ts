// A part of the page: a heading and what is below it, or, without data, what would fill it.

import { commandLine } from '../commands';
import { type Child, el, fill } from '../dom';
import type { Report } from '../report';

export class Section {
  readonly element: HTMLElement;
  private readonly content: HTMLElement;
  private readonly empty = el('div', { class: 'empty', hidden: true });

  constructor(readonly id: string, readonly title: string, ...content: Child[]) {
    this.content = el('div', { class: 'content' }, ...content);
    this.element = el('section', { id, 'aria-labelledby': `${id}-title` },
      el('h2', { id: `${id}-title` }, title), this.content, this.empty);
  }

  // Whether the document has this part; says what would fill it where it has not.
  offer(report: Report, part: string): boolean {
    const missing = report.missing.get(part) ?? null;
    this.show(missing === null);
    if (missing === null) return true;
    fill(this.empty, el('p', {}, prose(missing.text)), missing.command !== '' && commandLine(missing.command));
    return false;
  }

  // For what the document has, but not of the problem in sight.
  note(text: string): void {
    this.show(false);
    fill(this.empty, el('p', {}, text));
  }

  // The content, or what stands in its place.
  show(content: boolean): void {
    this.content.hidden = !content;
    this.empty.hidden = content;
    this.element.classList.toggle('collapsed', !content);
  }
}

// A sentence with `commands` in it.
export function prose(text: string): HTMLElement {
  return el('span', {}, ...text.split('`').map((part, i) => (i % 2 === 1 ? el('code', {}, part) : part)));
}

export function badge(text: string, kind = ''): HTMLElement {
  return el('span', { class: `badge ${kind}`.trim() }, text);
}

// Pairs of a name and a value; what is empty is left out.
export function facts(...pairs: readonly (readonly [string, Child])[]): HTMLElement {
  const known = pairs.filter(([, value]) => value !== '' && value !== null && value !== undefined && value !== false);
  return el('dl', { class: 'facts' }, ...known.map(([name, value]) =>
    el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}
