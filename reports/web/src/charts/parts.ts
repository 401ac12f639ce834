// What charts have in common: axes, tooltips and labels in the page's colours.

import { printable } from '../format';
import type { Theme } from '../theme';

// Text that others wrote, for a canvas: one line, cut to `length` characters.
export function label(text: string, length = 40): string {
  const line = printable(text).replaceAll(/\s+/g, ' ');
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

// The same over as many lines as it takes, broken at blanks.
export function wrapped(text: string, width = 60): string {
  const lines: string[] = [];
  let line = '';
  for (const word of printable(text).split(' ')) {
    if (line !== '' && line.length + word.length >= width) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}

// What ECharts hands to a tooltip's formatter, as far as the page reads it.
export interface Hovered {
  readonly seriesIndex: number;
  readonly dataIndex: number;
}

export function isHovered(value: unknown): value is Hovered {
  return typeof value === 'object' && value !== null && 'seriesIndex' in value && 'dataIndex' in value
    && typeof value.seriesIndex === 'number' && typeof value.dataIndex === 'number';
}

export interface Interval {
  readonly low: number;
  readonly high: number;
}

export interface Box {
  readonly x: Interval;
  readonly y: Interval;
}

export function isInterval(value: unknown): value is readonly [number, number] {
  return Array.isArray(value) && typeof value[0] === 'number' && typeof value[1] === 'number';
}

// The box that a brush ended with, in the units of the axes; null after a click without a drag.
export function boxOf(event: unknown): Box | null {
  const areas: unknown = typeof event === 'object' && event !== null && 'areas' in event ? event.areas : [];
  const area: unknown = Array.isArray(areas) ? areas[0] : undefined;
  if (typeof area !== 'object' || area === null || !('coordRange' in area)) return null;
  const range: unknown = area.coordRange;
  if (!Array.isArray(range) || !isInterval(range[0]) || !isInterval(range[1])) return null;
  const [x, y] = range;
  return { x: { low: x[0], high: x[1] }, y: { low: y[0], high: y[1] } };
}

// Drawn on the canvas, so that no text can become an element.
export function tooltip(theme: Theme, text: (hovered: Hovered) => string): object {
  return {
    renderMode: 'richText',
    confine: true,
    backgroundColor: theme.surface,
    borderColor: theme.line,
    borderWidth: 1,
    textStyle: { color: theme.text, fontSize: 12, lineHeight: 17 },
    formatter: (value: unknown) => (isHovered(value) ? text(value) : ''),
  };
}

export interface AxisOptions {
  readonly name: string;
  readonly format?: (value: number) => string;
  readonly min?: number;
  readonly max?: number;
  readonly vertical?: boolean;
}

function axis(theme: Theme, options: AxisOptions): object {
  const vertical = options.vertical === true;
  const format = options.format;
  return {
    name: options.name,
    nameLocation: vertical ? 'end' : 'middle',
    nameGap: vertical ? 14 : 30,
    nameTextStyle: { color: theme.muted, align: vertical ? 'left' : 'center' },
    axisLine: { show: true, lineStyle: { color: theme.line } },
    axisTick: { show: true, lineStyle: { color: theme.line } },
    axisLabel: {
      color: theme.muted, hideOverlap: true,
      ...(format === undefined ? {} : { formatter: (value: number) => format(value) }),
    },
    splitLine: { lineStyle: { color: theme.line, opacity: 0.6 } },
    ...(options.min === undefined ? {} : { min: options.min }),
    ...(options.max === undefined ? {} : { max: options.max }),
  };
}

export function numberAxis(theme: Theme, options: AxisOptions): object {
  return { type: 'value', scale: true, ...axis(theme, options) };
}

// A logarithmic axis from min to max. ECharts has ticks at powers of ten alone, too few for times that differ
// by half, so the ticks are named.
export function logAxis(
  theme: Theme, options: AxisOptions & { readonly min: number; readonly max: number },
): object {
  const made = axis(theme, options) as Readonly<Record<string, object>>;
  const customValues = logTicks(options.min, options.max);
  return {
    ...made,
    type: 'log',
    axisTick: { ...made['axisTick'], customValues },
    axisLabel: { ...made['axisLabel'], customValues },
    splitLine: { ...made['splitLine'], customValues },
  };
}

// Round numbers between min and max: about four to ten.
export function logTicks(min: number, max: number): readonly number[] {
  const decades = Math.log10(max / min);
  if (decades < 0.25) return linearTicks(min, max);
  const every = decades > 8 ? Math.ceil(decades / 8) : 1;
  const steps = decades > 3 ? [1] : decades > 1.2 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); power += every) {
    for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(3)));
  }
  return ticks.filter((tick) => tick >= min && tick <= max);
}

function linearTicks(min: number, max: number): readonly number[] {
  const rough = (max - min) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10) * power;
  const ticks: number[] = [];
  for (let i = Math.ceil(min / step); i * step <= max; ++i) ticks.push(Number((i * step).toPrecision(6)));
  return ticks;
}

export function categoryAxis(theme: Theme, name: string, labels: readonly string[], vertical = false): object {
  return {
    type: 'category',
    name,
    nameLocation: vertical ? 'end' : 'middle',
    nameGap: vertical ? 14 : 30,
    nameTextStyle: { color: theme.muted, align: vertical ? 'left' : 'center' },
    data: labels.map((each) => label(each, 34)),
    axisLine: { lineStyle: { color: theme.line } },
    axisTick: { show: false },
    axisLabel: { color: theme.text, hideOverlap: !vertical, interval: vertical ? 0 : 'auto' },
  };
}

export function legend(theme: Theme, names: readonly string[]): object {
  return { data: [...names], top: 0, left: 0, type: 'plain', textStyle: { color: theme.text }, itemGap: 16, itemWidth: 16, itemHeight: 10 };
}

const kLegendLine = 22;  // px
const kLegendEntry = 40;  // px of an entry besides its name
const kLegendCharacter = 7.5;

// Pixels that the lines of a legend below its first one take on a chart of this width.
export function legendWraps(names: readonly string[], width: number): number {
  let lines = 1;
  let place = 0;
  for (const name of names) {
    const size = kLegendEntry + kLegendCharacter * name.length;
    if (place > 0 && place + size > width) {
      ++lines;
      place = 0;
    }
    place += size;
  }
  return kLegendLine * (lines - 1);
}

// Ends of a logarithmic axis that leave some air around the values. ECharts starts a log axis at a power of
// its base unless told.
export function logRange(values: Iterable<number>, air = 1.15): { min: number; max: number } | null {
  let min = Infinity;
  let max = 0;
  for (const value of values) {
    if (!(value > 0) || !Number.isFinite(value)) continue;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return max > 0 ? { min: min / air, max: max * air } : null;
}

// Words that not all of the texts share, in each: what tells variants apart.
export function differences(texts: readonly string[]): readonly string[] {
  const words = texts.map((text) => text.split(' '));
  const shared = (words[0] ?? []).filter((word) => words.every((each) => each.includes(word)));
  return words.map((each, i) => {
    const own = each.filter((word) => !shared.includes(word)).join(' ');
    return own === '' ? (texts[i] ?? '') : own;
  });
}

// The letters under which the variants are listed beside a chart: A, B, ..., Z, AA, ...
export function letter(place: number): string {
  const last = String.fromCharCode(65 + (place % 26));
  return place < 26 ? last : letter(Math.floor(place / 26) - 1) + last;
}
