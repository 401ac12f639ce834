// The bar that stays in sight: which problem is shown, and what is chosen of it.

import { button, Chooser, el, fill } from '../dom';
import { countText } from '../format';
import { shortGroupLabel } from '../group';
import type { State, View } from '../state';

export function barView(state: State): View {
  const chooser = new Chooser('Problem', (value) => state.choose(Number(value)));
  const problem = el('div', { class: 'problem' }, chooser.element);
  const chips = el('div', { class: 'chips', role: 'group', 'aria-label': 'What is chosen' });
  const element = el('div', { class: 'bar', role: 'region', 'aria-label': 'What is shown' }, problem, chips);

  function showChips(): void {
    const { selection, group } = state;
    if (group === null || !selection.active) {
      fill(chips);
      return;
    }
    fill(chips,
      el('strong', {}, `${countText(selection.count)} of ${countText(group.rows)} variants chosen`),
      ...selection.chips.map((chip) =>
        button(`${chip.text} ×`, { class: 'chip', 'aria-label': `No longer choose by ${chip.text}` }, () => {
          selection.setOne(chip.key, null);
          (chips.querySelector('button') ?? problem.querySelector('select'))?.focus();
        })),
      button('Choose all', { class: 'chip all' }, () => selection.clear()));
  }

  state.selection.listen(showChips);
  return {
    element,
    update: () => {
      const choices = state.keys.map((key, i) => ({ value: String(i), text: shortGroupLabel(state.report, key) }));
      chooser.offer(choices, String(state.index));
      showChips();
    },
  };
}
