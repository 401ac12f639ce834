// ChartFigure: a chart with its title, a sentence that says what is in it, and its twin as a table, which a
// button shows in its place. The chart is an image with that sentence to a screen reader; all its
// figures stand in the table.

import { button, el, fill, freshId, setAttribute } from '../dom';
import { readTheme, type Theme } from '../theme';
import { type Chart, type ChartOption, makeChart } from './echarts';
import { type Actor, stage } from '../stage';

export interface ChartParts {
  readonly title: string;
  readonly height: number;                            // px
  readonly least?: () => number;                      // px of its width: on a narrower screen it scrolls in its box
  readonly option: (theme: Theme, width: number) => ChartOption;  // all of it, for new data, sizes and colours
  readonly mark?: (theme: Theme) => ChartOption;      // what a change of the selection changes
  readonly paint?: (theme: Theme, width: number) => void;  // the same, for what is drawn without an option
  readonly drawn?: (chart: Chart) => void;            // after option was set
  readonly made?: (chart: Chart) => void;             // once: listen to its events here
  readonly summary: () => string;
  readonly table: () => HTMLElement;
}

// What a portrait page of A4 holds at the zoom of charts in print (page.css), less the borders, in CSS pixels.
const kPaperWidth = 980;

export class ChartFigure implements Actor {
  readonly element: HTMLElement;
  readonly box: HTMLElement;
  private readonly summary = el('p', { class: 'summary' });
  private readonly canvas: HTMLElement;
  private readonly twin = el('div', { class: 'twin', hidden: true });
  private readonly toggle: HTMLButtonElement;
  private chart: Chart | null = null;
  private width = 0;
  private ground = '';
  private stale = true;  // its data, colours or size changed, not just the selection

  constructor(private readonly parts: ChartParts) {
    const titleId = freshId('chart');
    this.summary.id = freshId('summary');
    this.canvas = el('div', { class: 'canvas', role: 'img', 'aria-labelledby': titleId, 'aria-describedby': this.summary.id });
    this.canvas.style.height = `${parts.height}px`;
    this.toggle = button('Table', { 'aria-pressed': 'false', 'aria-label': `${parts.title} as a table` }, () =>
      this.showTable(this.twin.hidden));
    const scrolls = parts.least !== undefined;
    this.box = el('div', { class: 'stage', tabindex: scrolls ? 0 : undefined, role: scrolls ? 'group' : undefined, 'aria-labelledby': scrolls ? titleId : undefined }, this.canvas, this.twin);
    this.element = el('figure', {},
      el('figcaption', {}, el('h3', { id: titleId }, parts.title), this.toggle), this.summary, this.box);
    stage.add(this);
    new ResizeObserver(() => {
      if (this.chart !== null && this.canvas.clientWidth !== this.width) this.update();
    }).observe(this.canvas);
  }

  // New data or colours.
  update(): void {
    this.stale = true;
    this.summary.textContent = this.parts.summary();
    if (!this.twin.hidden) fill(this.twin, this.parts.table());
    stage.invalidate(this);
  }

  // Another selection.
  mark(): void {
    stage.invalidate(this);
  }

  draw(printing: boolean): void {
    this.canvas.style.minWidth = printing ? '' : `${this.parts.least?.() ?? 0}px`;
    this.canvas.style.width = printing ? `${kPaperWidth}px` : '';
    const width = this.canvas.clientWidth;
    if (width === 0) return;
    const theme = readTheme();
    if (theme.ground !== this.ground) this.stale = true;
    this.ground = theme.ground;
    if (this.chart === null) {
      this.chart = makeChart(this.canvas);
      this.parts.made?.(this.chart);
      this.stale = true;
    } else if (width !== this.width) {
      this.chart.resize();
      this.stale = true;
    }
    this.width = width;
    if (this.stale) {
      this.chart.setOption({ ...base(theme), ...this.parts.option(theme, width) }, { notMerge: true });
      this.parts.drawn?.(this.chart);
    }
    if (this.parts.mark !== undefined) this.chart.setOption(this.parts.mark(theme));
    this.parts.paint?.(theme, width);
    this.stale = false;
    this.summary.textContent = this.parts.summary();
    setAttribute(this.box, 'data-drawn', true);
  }

  // Pixels of the canvas to change the height to; the chart follows when it is drawn.
  setHeight(height: number): void {
    if (this.canvas.style.height === `${height}px`) return;
    this.canvas.style.height = `${height}px`;
    this.width = -1;
  }

  private showTable(shown: boolean): void {
    this.twin.hidden = !shown;
    this.canvas.hidden = shown;
    setAttribute(this.toggle, 'aria-pressed', String(shown));
    if (shown) fill(this.twin, this.parts.table());
    else this.update();
  }
}

function base(theme: Theme): ChartOption {
  return {
    animation: false,
    backgroundColor: 'transparent',
    color: [...theme.series],
    textStyle: { fontFamily: 'system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif', color: theme.text },
  };
}
