// The column beside the page: the title, its sections, light or dark. On a narrow screen the sections fold.

import { el, fill, setAttribute } from '../dom';
import type { State, View } from '../state';
import { themeChooser } from '../theme';

const kWide = window.matchMedia('(min-width: 1100px)');  // as in page.css

export class Side implements View {
  readonly element: HTMLElement;
  private readonly title = el('h1');
  private readonly made = el('p', { class: 'muted' });
  private readonly links = el('ul');

  constructor(private readonly state: State, live: HTMLElement, private readonly main: HTMLElement, themeChanged: () => void) {
    const sections = el('details', { class: 'sections' }, el('summary', {}, 'Sections'),
      el('nav', { 'aria-label': 'Sections' }, this.links));
    const fold = () => (sections.open = kWide.matches);
    kWide.addEventListener('change', fold);
    fold();
    this.links.addEventListener('click', () => {
      if (!kWide.matches) sections.open = false;
    });
    this.element = el('aside', { class: 'side', 'aria-label': 'Report' },
      el('header', {}, this.title, this.made, live), sections, themeChooser(themeChanged));
    const lines = [...main.querySelectorAll('section')].map((section) => this.line(section));
    fill(this.links, ...lines.map(({ line }) => line));
    this.follow(lines);
  }

  update(): void {
    const { report } = this.state;
    this.title.textContent = report.title;
    this.made.textContent = `Written ${report.generated_at.replace('T', ' ').replace(/:\d\dZ$/, ' UTC')} by mgtune ${report.mgtune_version}`;
    for (const section of this.main.querySelectorAll('section')) {
      const isEmpty = section.classList.contains('collapsed');
      this.links.querySelector(`a[href="#${section.id}"]`)?.classList.toggle('nothing', isEmpty);
    }
  }

  private line(section: HTMLElement): { readonly section: HTMLElement; readonly line: HTMLElement } {
    const title = section.querySelector('h2')?.textContent ?? '';
    return { section, line: el('li', {}, el('a', { href: `#${section.id}` }, title)) };
  }

  // The section at the top of the screen is the current one.
  private follow(lines: readonly { readonly section: HTMLElement; readonly line: HTMLElement }[]): void {
    const inSight = new Set<Element>();
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) inSight.add(entry.target);
        else inSight.delete(entry.target);
      }
      const current = lines.find(({ section }) => inSight.has(section));
      for (const { section, line } of lines) {
        setAttribute(line.firstElementChild as Element, 'aria-current', section === current?.section ? 'true' : undefined);
      }
    }, { rootMargin: '-10% 0px -60% 0px' });
    for (const { section } of lines) observer.observe(section);
  }
}
