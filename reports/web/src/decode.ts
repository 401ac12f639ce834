// Decoders: functions that take a part of a JSON document, check it, and return it typed. What does not
// fit is an Error that names its place: "/problems/3/count: expected a number". Objects are read by their
// known keys; other keys are ignored, so that documents may grow.

export type Decoder<T> = (value: unknown, path: string) => T;
export type Decoded<D> = D extends Decoder<infer T> ? T : never;

export class DataError extends Error {}

function fail(path: string, expected: string, value: unknown): never {
  const got = value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value;
  throw new DataError(`${path === '' ? '/' : path}: expected ${expected}, got ${got}`);
}

export const text: Decoder<string> = (value, path) =>
  typeof value === 'string' ? value : fail(path, 'a text', value);

export const number: Decoder<number> = (value, path) =>
  typeof value === 'number' ? value : fail(path, 'a number', value);

export const flag: Decoder<boolean> = (value, path) =>
  typeof value === 'boolean' ? value : fail(path, 'true or false', value);

// A value of a parameter, dim, dtype or flag, as text.
export const word: Decoder<string> = (value, path) =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : fail(path, 'a text, a number or a boolean', value);

export function oneOf<T extends string>(...words: readonly T[]): Decoder<T> {
  return (value, path) =>
    words.find((each) => each === value) ?? fail(path, `one of ${words.join(', ')}`, value);
}

export function orNull<T>(decoder: Decoder<T>): Decoder<T | null> {
  return (value, path) => (value === null ? null : decoder(value, path));
}

// For a key that older documents lack.
export function orAbsent<T>(decoder: Decoder<T>, absent: T): Decoder<T> {
  return (value, path) => (value === undefined ? absent : decoder(value, path));
}

export function list<T>(decoder: Decoder<T>): Decoder<readonly T[]> {
  return (value, path) =>
    Array.isArray(value)
      ? value.map((item: unknown, i) => decoder(item, `${path}/${i}`))
      : fail(path, 'a list', value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// In the order of the document.
export function pairs<T>(decoder: Decoder<T>): Decoder<ReadonlyMap<string, T>> {
  return (value, path) => {
    if (!isObject(value)) return fail(path, 'an object', value);
    return new Map(Object.entries(value).map(([key, item]) => [key, decoder(item, `${path}/${key}`)]));
  };
}

type Shape = Readonly<Record<string, Decoder<unknown>>>;

export function object<S extends Shape>(
  shape: S,
): Decoder<{ readonly [K in keyof S]: Decoded<S[K]> }> {
  const entries = Object.entries(shape);
  return (value, path) => {
    if (!isObject(value)) return fail(path, 'an object', value);
    const decoded = Object.fromEntries(
      entries.map(([key, decoder]) => [key, decoder(value[key], `${path}/${key}`)]),
    );
    return decoded as { readonly [K in keyof S]: Decoded<S[K]> };
  };
}

// A column of numbers; null becomes NaN.
export const numbers: Decoder<Float64Array> = (value, path) => {
  if (!Array.isArray(value)) return fail(path, 'a list', value);
  const items: readonly unknown[] = value;
  const column = new Float64Array(items.length);
  for (let i = 0; i < items.length; ++i) {
    const item = items[i];
    if (typeof item === 'number') column[i] = item;
    else if (item === null) column[i] = NaN;
    else fail(`${path}/${i}`, 'a number or null', item);
  }
  return column;
};

// A column of indices; -1 means none.
export const indices: Decoder<Int32Array> = (value, path) => {
  if (!Array.isArray(value)) return fail(path, 'a list', value);
  const items: readonly unknown[] = value;
  const column = new Int32Array(items.length);
  for (let i = 0; i < items.length; ++i) {
    const item = items[i];
    if (typeof item === 'number') column[i] = item;
    else fail(`${path}/${i}`, 'a number', item);
  }
  return column;
};
