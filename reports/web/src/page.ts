// The page: its parts in their order, for one document after another. A part is one file of charts/ or views/
// that exports a function from State to View, and its line in kParts, with the import.

import { countersView } from './charts/counters';
import { progressView } from './charts/evaluations';
import { finalsView } from './charts/finals';
import { rooflineView } from './charts/roofline';
import { sizesView } from './charts/sizes';
import { el, fill } from './dom';
import type { Report } from './report';
import { stage } from './stage';
import { State, type View } from './state';
import { watchTheme } from './theme';
import { barView } from './views/bar';
import { environmentView, methodView } from './views/environment';
import { failuresView } from './views/failures';
import { mattersView } from './views/matters';
import { pickView } from './views/pick';
import { picksView } from './views/picks';
import { Side } from './views/side';
import { heatView, parallelView } from './views/space';
import { variantsView } from './views/variants';
import { verdictView } from './views/verdict';

const kParts: readonly ((state: State) => View)[] = [
  verdictView,
  picksView,
  pickView,
  rooflineView,
  mattersView,
  heatView,
  parallelView,
  variantsView,
  progressView,
  finalsView,
  sizesView,
  countersView,
  failuresView,
  environmentView,
  methodView,
];

export class Page {
  private state: State | null = null;
  private readonly live = el('span', { class: 'live', role: 'status' });

  constructor(private readonly root: HTMLElement) {}

  show(report: Report): void {
    if (this.state === null) this.make(report);
    else this.state.replace(report);
    document.title = report.title;
  }

  // What a sweep that runs says of itself: "" when it does not.
  say(text: string): void {
    this.live.textContent = text;
  }

  private make(report: Report): void {
    const state = new State(report);
    this.state = state;
    const themeChanged = () => stage.invalidateAll();
    const parts = kParts.map((part) => part(state));
    const bar = barView(state);
    const main = el('main', { id: 'content' }, ...parts.map((part) => part.element));
    const side = new Side(state, this.live, main, themeChanged);
    fill(this.root,
      el('a', { class: 'skip', href: '#content' }, 'To the content'),
      el('div', { class: 'layout' }, side.element, el('div', { class: 'column' }, bar.element, main)));
    const update = () => {
      for (const view of [bar, ...parts, side]) view.update();
    };
    state.listen(update);
    watchTheme(themeChanged);
    update();
  }
}
