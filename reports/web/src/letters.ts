// One letter for one variant of the problem in sight, the same in all charts: A is the pick, then come the other
// finalists, the fastest first, then what else was counted.

import { letter } from './charts/parts';
import type { State } from './state';

export function letters(state: State): ReadonlyMap<string, string> {
  const { report, group, pick } = state;
  const isOf = (each: { readonly problem: number }) => each.problem === group?.problem;
  const final = report.finals.find((each) => isOf(each) && each.method === group?.method);
  const variants = [
    ...(pick === undefined ? [] : [pick.variant]),
    ...(final?.finalists ?? []).map((each) => each.variant),
    ...report.counters.filter(isOf).map((each) => each.variant),
  ];
  return new Map([...new Set(variants)].map((variant, place) => [variant, letter(place)]));
}
