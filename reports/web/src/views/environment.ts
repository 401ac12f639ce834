// On what it was measured, how to repeat it, and which binaries it was.

import { copyButton, wordsOf } from '../commands';
import { el, fill } from '../dom';
import { bytesText, countText } from '../format';
import { at } from '../group';
import type { Report } from '../report';
import type { State, View } from '../state';
import { plainTable } from '../table';
import { ceilingTable } from '../charts/roofline';
import { badge, facts, prose, Section } from './section';

type Machine = Report['machines'][number];

function machineFacts(report: Report, machine: Machine): HTMLElement {
  const gpu = at(report.gpus, machine.gpu);
  const size = (bytes: number) => (bytes > 0 ? bytesText(bytes) : '');
  return el('div', { class: 'machine' },
    el('h3', {}, gpu.model, gpu.emulation && ' ', gpu.emulation && badge('emulation', 'emulation')),
    facts(
      ['Architecture', gpu.arch], ['SMs', gpu.sm_count > 0 && !gpu.emulation ? countText(gpu.sm_count) : ''], ['L2', size(gpu.l2_bytes)],
      ['Memory', size(gpu.memory_bytes)], ['Shared memory per block', size(gpu.max_shared_bytes)], ['MIG profile', gpu.mig_profile],
      ['Driver', machine.driver], ['Compiler', machine.compiler], ['System', machine.system], ['mgtune', machine.mgtune_version]));
}

function sweepsTable(report: Report): HTMLElement {
  return plainTable({ caption: 'Sweeps, the newest first' }, report.sweeps, [
    { title: 'started (UTC)', text: (each) => each.started_at },
    { title: 'finished (UTC)', text: (each) => each.finished_at ?? 'not finished' },
    { title: 'device', text: (each) => at(report.gpus, each.gpu).model },
    { title: 'strategy', text: (each) => each.strategy },
    { title: 'budget', text: (each) => each.budget },
    { title: 'variants', number: true, text: (each) => countText(each.variants), order: (each) => each.variants },
    { title: 'command', text: (each) => each.command, cell: (each) => el('code', {}, ...wordsOf(each.command)) },
    {
      title: 'repeat it', text: (each) => (each.imported ? 'imported' : each.repeat),
      cell: (each) => (each.repeat === '' ? 'imported' : copyButton('Copy', () => each.repeat, `Copy: ${each.repeat}`)),
    },
  ]);
}

function buildsTable(report: Report): HTMLElement {
  return plainTable({ caption: 'Builds of the picks and defaults', filter: true }, report.builds, [
    { title: 'problem', text: (each) => `${at(report.problems, each.problem).operator} ${at(report.problems, each.problem).problem}` },
    { title: 'what', text: (each) => each.role },
    { title: 'variant', text: (each) => each.variant, cell: (each) => el('code', {}, each.variant) },
    { title: 'SHA-256', text: (each) => each.sha256, cell: (each) => el('code', {}, each.sha256) },
  ]);
}

export function environmentView(state: State): View {
  const body = el('div');
  const section = new Section('environment', 'Environment', body);
  return {
    element: section.element,
    update: () => {
      const { report } = state;
      if (!section.offer(report, 'environment')) return;
      const { ceilings } = report.roofline;
      fill(body,
        el('div', { class: 'machines' }, ...report.machines.map((each) => machineFacts(report, each))),
        sweepsTable(report),
        report.builds.length > 0 && buildsTable(report),
        ceilings.length > 0 && ceilingTable(report, [...new Set(ceilings.map((each) => each.gpu))]));
    },
  };
}

export function methodView(state: State): View {
  const body = el('div');
  const section = new Section('method', 'How it was measured', body);
  return {
    element: section.element,
    update: () => {
      const { report } = state;
      fill(body,
        ...report.measured.map((paragraph) => el('p', {}, prose(paragraph))),
        facts(...report.methods.map((each) => [each.name, prose(each.description)] as const)));
    },
  };
}
