// Which variants a chart draws when there are too many to draw all.

import type { Group } from './group';
import { countText } from './format';
import { kDefault, kFinalist, kPick } from './report';

export interface Sample {
  readonly rows: readonly number[];
  readonly of: number;  // how many there are
}

const kAlwaysFastest = 100;  // of those that would be drawn

// Of the accepted rows at most about `limit`: the pick, the default, the finalists and the fastest always, of the
// others every n-th. The rows of a group stand by time, so that each range of times keeps its share.
export function sample(group: Group, limit: number, accept: (row: number) => boolean): Sample {
  const accepted: number[] = [];
  for (let row = 0; row < group.rows; ++row) {
    if (accept(row)) accepted.push(row);
  }
  if (accepted.length <= limit) return { rows: accepted, of: accepted.length };
  const step = (accepted.length - kAlwaysFastest) / Math.max(1, limit - kAlwaysFastest);
  let next = kAlwaysFastest;
  const rows = accepted.filter((row, i) => {
    const wanted = i < kAlwaysFastest || ((group.flags[row] ?? 0) & (kPick | kDefault | kFinalist)) !== 0;
    if (i < next) return wanted;
    next += step;
    return true;
  });
  return { rows, of: accepted.length };
}

// Says so in the page: "Drawn: 2,000 of 100,000 variants, ..."; "" when all are drawn.
export function sampleText(...samples: readonly Sample[]): string {
  const drawn = samples.reduce((sum, each) => sum + each.rows.length, 0);
  const of = samples.reduce((sum, each) => sum + each.of, 0);
  return drawn === of
    ? ''
    : `Drawn: ${countText(drawn)} of ${countText(of)} variants, the fastest and the finalists among them; `
      + 'choosing and the tables work on all.';
}
