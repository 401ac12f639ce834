// What the page shows: a document, one group of its variants, and the selection among them. Views read it and
// are told when it changed; the groups of a document are made when they are first looked at.

import { at, type Group, type GroupKey, groupKeys, groupLabel, makeGroup, variantText } from './group';
import type { Problem, Report } from './report';
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

  // The text of a row of the group.
  variant(row: number): string {
    const { group, problem } = this;
    return group === null || problem === null ? '' : variantText(problem, group.source[row] ?? -1);
  }

  // The next document of a sweep that runs: the same problem stays in sight.
  replace(report: Report): void {
    const label = this.group?.label;
    this.report = report;
    this.keys = groupKeys(report);
    this.groups.clear();
    const same = this.keys.findIndex((key) => groupLabel(report, key) === label);
    this.show(same >= 0 ? same : this.favourite());
    this.notify();
  }

  choose(index: number): void {
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

  private currentKey(): GroupKey | undefined {
    const { group } = this;
    return this.keys.find((key) => key.problem === group?.problem && key.method === group.method);
  }

  // The first problem that has a pick, else the first.
  private favourite(): number {
    const pick = this.report.picks[0];
    const index = this.keys.findIndex((key) => key.problem === pick?.problem && key.method === pick.method);
    return Math.max(0, index);
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
