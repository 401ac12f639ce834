// Command lines to copy: built as one shell word per argument, whatever a name has in it.

import { append, button, type Child, el } from './dom';

// 'it'\''s': one word for a POSIX shell.
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:=,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// "" where the report knows of no such command.
export function rerunCommand(rerun: string, variant: string): string {
  return rerun === '' || variant === '' ? '' : `${rerun} ${shellWord(variant)}`;
}

export type PrintForm = 'cuda' | 'ptx' | 'sass' | 'command';

// Prints the source of a variant, what it is compiled to, or the command that compiles it. "" as above.
export function printCommand(rerun: string, variant: string, form: PrintForm): string {
  const run = rerun.replace(/^mgtune profile /, 'mgtune run ');
  return run === rerun ? '' : `${rerunCommand(run, variant)} --print ${form}`;
}

// The clipboard of the browser, or, where it is refused (some browsers for files), a selection.
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const area = el('textarea', { class: 'offscreen', readonly: true, 'aria-hidden': 'true', tabindex: -1 });
  area.value = text;
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  // Deprecated, and the one way that is left on pages without the clipboard's permission.
  const copied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}

// Says on itself, and to screen readers, whether it worked.
export function copyButton(label: string, text: () => string, name = label): HTMLButtonElement {
  const copy = button(label, { class: 'copy', 'aria-label': name }, () => {
    void copyText(text()).then((copied) => {
      copy.textContent = copied ? 'Copied' : 'Not copied';
      announce(copied ? `Copied: ${text()}` : 'The browser did not let the page copy.');
      window.setTimeout(() => (copy.textContent = label), 1500);
    });
  });
  return copy;
}

// A line breaks between words, not behind the hyphens of an option.
export function wordsOf(command: string): readonly Child[] {
  return command.split(' ').flatMap((word, i) => [i > 0 && ' ', el('span', { class: 'word' }, word)]);
}

// A command line in sight, with its button.
export function commandLine(command: string): HTMLElement {
  const line = el('div', { class: 'command' });
  append(line, el('code', {}, ...wordsOf(command)), copyButton('Copy', () => command, `Copy: ${command}`));
  return line;
}

let status: HTMLElement | null = null;

// For screen readers: what changed without moving the focus.
export function announce(text: string): void {
  if (status === null) {
    status = el('div', { class: 'offscreen', role: 'status' });
    document.body.append(status);
  }
  status.textContent = text;
}
