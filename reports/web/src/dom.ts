// Elements made of text. Nothing in the page is parsed as HTML: strings become text nodes, and the
// attributes that could carry script or style are refused.

export type Child = Node | string | null | undefined | false;
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  append(element, ...children);
  return element;
}

export function setAttribute(
  element: Element,
  name: string,
  value: string | number | boolean | undefined,
): void {
  if (name === 'style' || name.startsWith('on')) throw new Error(`attribute ${name} is refused`);
  if (value === undefined || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? '' : String(value));
}

export function append(element: Element, ...children: Child[]): void {
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

// Empties the element and gives it these children.
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, ...children);
}

export function button(
  text: string,
  attributes: Attributes,
  pressed: () => void,
): HTMLButtonElement {
  const element = el('button', { type: 'button', ...attributes }, text);
  element.addEventListener('click', pressed);
  return element;
}

export interface Choice {
  readonly value: string;
  readonly text: string;
}

// A labelled list to choose one of. It stays the same element when its choices change, so that whoever is
// in it is not thrown out.
export class Chooser {
  readonly element: HTMLLabelElement;
  private readonly select = el('select');
  private shown = '';

  constructor(label: string, chosen: (value: string) => void) {
    this.element = el('label', { class: 'chooser' }, el('span', {}, label), this.select);
    this.select.addEventListener('change', () => chosen(this.select.value));
  }

  offer(choices: readonly Choice[], value: string): void {
    const shown = JSON.stringify(choices);
    if (shown !== this.shown) fill(this.select, ...choices.map((each) => el('option', { value: each.value }, each.text)));
    this.shown = shown;
    this.select.value = value;
    this.element.hidden = choices.length === 0;
  }
}

let ids = 0;

// An id that no other element has.
export function freshId(stem: string): string {
  return `${stem}-${++ids}`;
}
