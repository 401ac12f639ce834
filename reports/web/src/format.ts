// Numbers as people read them, in the same words as the terminal's tables.

const kNone = '–';

function fourDigits(value: number): string {
  if (value >= 1000) return value.toFixed(0);
  if (value >= 100) return value.toFixed(1);
  if (value >= 10) return value.toFixed(2);
  return value.toFixed(3);
}

interface TimeUnit {
  readonly name: string;
  readonly ns: number;
}

const kTimeUnits: readonly TimeUnit[] = [
  { name: 's', ns: 1e9 },
  { name: 'ms', ns: 1e6 },
  { name: 'us', ns: 1e3 },
  { name: 'ns', ns: 1 },
];

// "812.4 ns", "17.23 us", "2.000 s".
export function timeText(ns: number | null): string {
  if (ns === null || !Number.isFinite(ns)) return kNone;
  const unit = kTimeUnits.find((each) => Math.abs(ns) >= each.ns) ?? { name: 'ns', ns: 1 };
  return `${fourDigits(ns / unit.ns)} ${unit.name}`;
}

// What a time is called: the cpu device's are never without their label.
export function timeName(emulation: boolean): string {
  return emulation ? 'time (emulation)' : 'time';
}

// The same in as few digits as an axis needs: "20 us", "1.5 ms".
export function timeTick(ns: number): string {
  const unit = kTimeUnits.find((each) => ns >= each.ns) ?? { name: 'ns', ns: 1 };
  return `${shortNumber(ns / unit.ns)} ${unit.name}`;
}

// "1.22x".
export function ratioText(ratio: number | null): string {
  return ratio === null || !Number.isFinite(ratio) ? kNone : `${ratio.toFixed(2)}x`;
}

// A speed-up, to the thousandth where it is small: "1.036x", "1.22x".
export function speedText(ratio: number | null): string {
  return ratio !== null && Math.abs(ratio - 1) < 0.0995 ? `${ratio.toFixed(3)}x` : ratioText(ratio);
}

// Both ends, in as many digits as tell them apart, up to the thousandth: "1.148x to 1.153x".
export function speedRange(low: number, high: number): string {
  const [from, to] = [speedText(low), speedText(high)];
  return from === to ? `${low.toFixed(3)}x to ${high.toFixed(3)}x` : `${from} to ${to}`;
}

// Both ends in one unit, in as many digits as tell them apart: "128.79 to 128.85 us".
export function timeRange(low: number | null, high: number | null): string {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return '';
  const unit = kTimeUnits.find((each) => Math.abs(high) >= each.ns) ?? { name: 'ns', ns: 1 };
  const size = Math.abs(high / unit.ns);
  const least = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  for (let digits = least; ; ++digits) {
    const [from, to] = [(low / unit.ns).toFixed(digits), (high / unit.ns).toFixed(digits)];
    if (from !== to || digits >= least + 2) return `${from} to ${to} ${unit.name}`;
  }
}

// "97.3 %" for 0.973.
export function percentText(part: number | null, digits = 1): string {
  return part === null || !Number.isFinite(part) ? kNone : `${(part * 100).toFixed(digits)} %`;
}

// "8 s", "1:05", "2:03:10".
export function durationText(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${seconds < 10 ? shortNumber(seconds) : whole} s`;
  const two = (value: number) => String(value).padStart(2, '0');
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${two(whole % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

export function bytesText(bytes: number | null): string {
  if (bytes === null || !Number.isFinite(bytes)) return kNone;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    ++unit;
  }
  return `${shortNumber(value)} ${units[unit]}`;
}

const kCounts = new Intl.NumberFormat('en-US');

// "1,234,567".
export function countText(count: number): string {
  return kCounts.format(count);
}

// "1 variant", "2,000 variants".
export function counted(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

// "1st", "22nd", "113th".
export function ordinal(place: number): string {
  const tens = place % 100;
  const suffix = tens > 10 && tens < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][place % 10] ?? 'th');
  return `${countText(place)}${suffix}`;
}

// Three significant digits at most, without trailing zeros; "1.2k", "3.4M", "5G", "6.7T", "8P" above 10,000.
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  const scales: readonly (readonly [number, string])[] = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k']];
  for (const [scale, suffix] of scales) {
    if (size >= scale) return `${trimmed(value / (suffix === 'k' ? 1e3 : scale))}${suffix}`;
  }
  return size !== 0 && size < 1e-3 ? value.toExponential(1) : trimmed(value);
}

// "503 GFLOP/s", "4.2 TB/s".
export function rateText(value: number, unit: string): string {
  const [, digits = '', prefix = ''] = /^([^A-Za-z]+)([A-Za-z]?)$/.exec(shortNumber(value)) ?? [];
  return digits === '' ? `${shortNumber(value)} ${unit}` : `${digits} ${prefix}${unit}`;
}

function trimmed(value: number): string {
  return String(Number(value.toPrecision(Math.abs(value) >= 1000 ? 4 : 3)));
}

// A measured number in a table: four significant digits, or the integer that it is.
export function numberText(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return kNone;
  if (Number.isInteger(value)) return countText(value);
  const size = Math.abs(value);
  if (size >= 1e4) return countText(Math.round(value));
  return size >= 1e-3 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
}

// Control characters and marks that turn the direction of text, made visible.
export function printable(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
