// What the page shows: a document, one group of its variants, and the selection among them. Views read it and
// are told when it changed; the groups of a document are made when they are first looked at.

import { at, type Group, type GroupKey, groupKeys, groupLabel, makeGroup, variantText } from './group';
import { peersOf } from './peers';
import type { Pick, Problem, Report } from './report';
import { Selection } from './selection';

export interface View {
  readonly element: HTMLElement;
  update(): void;  // another document or group
}

export class State {
  readonly selection = new Selection();
  report: Report;
  keys: readonly GroupKey[];
  group: Group | null = null;  // null: the document has no variants
  private follows = true;  // the sweep that runs, until a problem is chosen
  private readonly groups = new Map<number, Group>();
  private readonly listeners: (() => void)[] = [];

  constructor(report: Report) {
    this.report = report;
    this.keys = groupKeys(report);
    this.show(this.favourite());
  }

  get problem(): Problem | null {
    return this.group === null ? null : at(this.report.problems, this.group.problem);
  }

  // Of the problem in sight by its method.
  get pick(): Pick | undefined {
    const { group } = this;
    return this.report.picks.find((pick) => pick.problem === group?.problem && pick.method === group.method);
  }

  // The text of a row of the group.
  variant(row: number): string {
    const { group, problem } = this;
    return group === null || problem === null ? '' : variantText(problem, group.source[row] ?? -1);
  }

  // The next document of a sweep that runs: the problem in sight is the one that it works on, until the reader chooses
  // a problem or variants. Then the same problem stays in sight, and the same variant looked at.
  replace(report: Report): void {
    const label = this.group?.label;
    const { focus } = this.selection;
    const looked = focus === null ? null : this.variant(focus);
    const grown = this.follows && focus === null && !this.selection.active ? this.grownIn(report) : undefined;
    this.report = report;
    this.keys = groupKeys(report);
    this.groups.clear();
    const wanted = grown ?? label;
    const same = this.keys.findIndex((key) => groupLabel(report, key) === wanted);
    this.show(same >= 0 ? same : this.favourite());
    this.notify();
    const rows = this.group?.rows ?? 0;
    for (let row = 0; looked !== null && row < rows; ++row) {
      if (this.variant(row) !== looked) continue;
      this.selection.look(row);
      break;
    }
  }

  choose(index: number): void {
    this.follows = false;
    this.show(index);
    this.notify();
  }

  chooseProblem(problem: number, method: number): void {
    const exact = this.keys.findIndex((key) => key.problem === problem && key.method === method);
    const index = exact >= 0 ? exact : this.keys.findIndex((key) => key.problem === problem);
    if (index >= 0 && this.keys[index] !== this.currentKey()) this.choose(index);
  }

  get index(): number {
    return this.keys.findIndex((key) => key === this.currentKey());
  }

  listen(listener: () => void): void {
    this.listeners.push(listener);
  }

  // The label of the last group that has more variants in this document.
  private grownIn(report: Report): string | undefined {
    const size = (of: Report, key: GroupKey) => at(of.problems, key.problem).count;
    const known = new Map(this.keys.map((key) => [groupLabel(this.report, key), size(this.report, key)]));
    const grown = groupKeys(report).filter((key) => size(report, key) > (known.get(groupLabel(report, key)) ?? 0));
    const last = grown.at(-1);
    return last === undefined ? undefined : groupLabel(report, last);
  }

  private currentKey(): GroupKey | undefined {
    const { group } = this;
    return this.keys.find((key) => key.problem === group?.problem && key.method === group.method);
  }

  // The problem that gained most over the fastest other implementation, or over the default where no other was timed: the one that the
  // verdict names. If none gained, the one with most variants, of those that have a pick or, without picks, of all.
  private favourite(): number {
    const { picks, problems, gpus } = this.report;
    const hasPeers = picks.some((pick) => peersOf(this.report, pick).length > 0);
    const overPeer = (pick: Pick) => (peersOf(this.report, pick)[0]?.median_ns ?? 0) / pick.time_ns;
    const overDefault = (pick: Pick) =>
      pick.standing === 'faster' && !at(gpus, at(problems, pick.problem).gpu).emulation ? (pick.speedup ?? 0) : 0;
    const gain = hasPeers ? overPeer : overDefault;
    const pickOf = (place: number) =>
      picks.find((pick) => pick.problem === this.keys[place]?.problem && pick.method === this.keys[place]?.method);
    const rank = (place: number): readonly number[] => {
      const pick = pickOf(place);
      return [pick === undefined ? 0 : gain(pick), pick === undefined ? 0 : 1, problems[this.keys[place]?.problem ?? -1]?.count ?? 0];
    };
    const isBefore = (a: readonly number[], b: readonly number[]) => {
      const differs = a.findIndex((value, i) => value !== b[i]);
      return differs >= 0 && (a[differs] ?? 0) > (b[differs] ?? 0);
    };
    return this.keys.reduce((best, _, place) => (isBefore(rank(place), rank(best)) ? place : best), 0);
  }

  private show(index: number): void {
    const key = this.keys[index];
    if (key === undefined) {
      this.group = null;
      this.selection.adopt([], 0);
      return;
    }
    let group = this.groups.get(index);
    if (group === undefined) {
      group = makeGroup(this.report, key);
      this.groups.set(index, group);
    }
    this.group = group;
    this.selection.adopt(group.columns, group.rows);
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}
