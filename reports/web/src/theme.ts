// Light, dark, or as the system has it. The colours stand once, in page.css; charts read them there.

import { Chooser } from './dom';

export interface Theme {
  readonly ground: string;
  readonly surface: string;
  readonly line: string;
  readonly text: string;
  readonly muted: string;
  readonly accent: string;
  readonly series: readonly string[];  // told apart without colour vision, and each with its own symbol
  readonly ramp: readonly string[];    // from the fastest to the slowest: the fastest stand out from the ground
}

export const kSymbols: readonly string[] = ['circle', 'rect', 'triangle', 'diamond', 'roundRect', 'pin', 'arrow'];

const kSeries = 7;
export const kShades = 7;

export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    ground: color('ground'), surface: color('surface'), line: color('line'), text: color('text'),
    muted: color('muted'), accent: color('accent'),
    series: Array.from({ length: kSeries }, (_, i) => color(`series-${i + 1}`)),
    ramp: Array.from({ length: kShades }, (_, i) => color(`ramp-${i + 1}`)),
  };
}

// The colour of a part between 0 (the fastest) and 1.
export function rampColor(theme: Theme, part: number): string {
  const last = theme.ramp.length - 1;
  const index = Math.round(Math.min(1, Math.max(0, part)) * last);
  return theme.ramp[index] ?? theme.muted;
}

// Black or white, whichever is easier to read on the color.
export function inkOn(color: string): string {
  const channel = (place: number) => (Number.parseInt(color.slice(place, place + 2), 16) / 255) ** 2.2;
  const luminance = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
  return luminance > 0.18 ? '#000000' : '#ffffff';
}

const system = window.matchMedia('(prefers-color-scheme: dark)');

// Calls back whenever the colours have changed: by the choice, the system, or for printing.
export function watchTheme(changed: () => void): void {
  let beforePrint: string | undefined;
  system.addEventListener('change', changed);
  window.addEventListener('beforeprint', () => {
    beforePrint = document.documentElement.dataset['theme'];
    document.documentElement.dataset['theme'] = 'light';
    changed();
  });
  window.addEventListener('afterprint', () => {
    if (beforePrint === undefined) delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = beforePrint;
    changed();
  });
}

export function themeChooser(changed: () => void): HTMLElement {
  const choices = [
    { value: 'auto', text: 'As the system' },
    { value: 'light', text: 'Light' },
    { value: 'dark', text: 'Dark' },
  ];
  const chooser = new Chooser('Colors', (value) => {
    if (value === 'auto') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = value;
    changed();
  });
  chooser.offer(choices, document.documentElement.dataset['theme'] ?? 'auto');
  return chooser.element;
}
