// How to use the pick in sight: a tab for each language, and the command line.

import { commandLine, copyButton, rerunCommand } from '../commands';
import { button, type Child, el, fill, freshId, setAttribute } from '../dom';
import type { Pick, Problem } from '../report';
import { snippets } from '../snippets';
import type { State, View } from '../state';

interface Tab {
  readonly name: string;
  readonly content: Child;
}

function commands(problem: Problem, pick: Pick): Child {
  const rerun = rerunCommand(problem.rerun, pick.variant);
  const line = (words: string, command: string) => (command === '' ? [] : [el('p', {}, words), commandLine(command)]);
  return el('div', { class: 'steps' },
    ...line('Write one file to ship, for mgr_open or MGTUNE_DB:', pick.ship),
    ...line('See what a program gets for this problem:', pick.use),
    ...line('Run it again with hardware counters (most drivers let only root read them):', rerun));
}

function tabs(problem: Problem, pick: Pick, isEmulated: boolean): readonly Tab[] {
  const commandTab: Tab = { name: 'Command line', content: commands(problem, pick) };
  const emulated = isEmulated ? ' This pick is for the cpu device. On a GPU programs do not run it.' : '';
  if (pick.use === '') {
    const recorded = el('p', { class: 'note' }, 'No program runs it: a recording is for reading. A sweep on the GPU at hand makes picks.');
    return [{ name: 'Command line', content: el('div', {}, recorded, commandTab.content) }];
  }
  return [
    ...snippets(problem, pick).map(({ name, code, note }): Tab => ({
      name,
      content: el('div', { class: 'snippet' },
        code !== '' && el('pre', { tabindex: 0 }, code),
        el('div', { class: 'row' }, el('p', { class: 'note' }, `${note}${emulated}`), code !== '' && copyButton('Copy', () => code, `Copy the ${name} source`))),
    })),
    commandTab,
  ];
}

export function usageView(state: State): View {
  const list = el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'How to use it' });
  const panels = el('div', { class: 'panels' });
  const element = el('article', { class: 'usage' }, el('h3', {}, 'How to use it'), list, panels);
  let chosen = 'C';

  function show(name: string): void {
    chosen = name;
    [...list.children].forEach((tab, i) => {
      const isChosen = tab.textContent === name;
      setAttribute(tab, 'aria-selected', String(isChosen));
      setAttribute(tab, 'tabindex', isChosen ? 0 : -1);
      panels.children[i]?.toggleAttribute('hidden', !isChosen);
    });
  }

  // The arrow keys go from tab to tab, as in every list of tabs.
  list.addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const all = [...list.children];
    const next = all[(all.findIndex((tab) => tab.textContent === chosen) + step + all.length) % all.length];
    if (step === 0 || !(next instanceof HTMLElement)) return;
    show(next.textContent);
    next.focus();
  });

  return {
    element,
    update: () => {
      const { pick, problem } = state;
      element.hidden = pick === undefined || problem === null;
      if (pick === undefined || problem === null) return;
      const made = tabs(problem, pick, state.group?.emulation ?? false);
      const ids = made.map(() => [freshId('tab'), freshId('panel')] as const);
      fill(list, ...made.map(({ name }, i) =>
        button(name, { role: 'tab', id: ids[i]?.[0], 'aria-controls': ids[i]?.[1] }, () => show(name))));
      fill(panels, ...made.map(({ content }, i) =>
        el('div', { role: 'tabpanel', id: ids[i]?.[1], 'aria-labelledby': ids[i]?.[0] }, content)));
      show(made.some(({ name }) => name === chosen) ? chosen : (made[0]?.name ?? ''));
    },
  };
}
