// How a program runs the picks of an operator, as source to copy.

import type { Pick, Problem } from './report';

export interface Snippet {
  readonly name: string;
  readonly code: string;  // "" if there is no such way
  readonly note: string;
}

// The dims that a plan of the built-in families is made for; their other dims may differ from launch to launch.
const kPlannedDims: ReadonlyMap<string, readonly string[]> = new Map([
  ['rmsnorm', ['hidden']], ['swiglu', []], ['attention', ['head_dim']],
]);

// By the start of the operator's name, the longest first.
const kTorchCalls: readonly (readonly [string, string])[] = [
  ['rmsnorm.add_', 'y, s = mt.add_rms_norm(x, residual, weight, eps=1e-6)'],
  ['rmsnorm.', 'y = mt.rms_norm(x, weight, eps=1e-6)'],
  ['swiglu.packed_', 'y = mt.swiglu_packed(gate_up)'],
  ['swiglu.', 'y = mt.swiglu(gate, up)'],
  ['attention.prefill', 'o = mt.attention(q, k, v, is_causal=True)  # as scaled_dot_product_attention'],
  ['attention.varlen', 'o = torch.ops.mgtune.attention_varlen(q, k, v, q_starts, k_starts, max_q, max_k, scale)'],
  ['attention.decode', 'o = torch.ops.mgtune.attention_decode(q, k, v, kv_lens, scale)'],
];

interface Words {
  readonly planned: readonly (readonly [string, string])[];
  readonly ranges: readonly (readonly [string, string])[];  // dims of a launch
  readonly isKnown: boolean;  // whether it is known which dims a plan is made for
}

function wordsOf(problem: Problem): Words {
  const planned = kPlannedDims.get(problem.operator.split('.')[0] ?? '');
  const values = [...problem.values];
  const isRange = ([name, value]: readonly [string, string]) => /^\d+$/.test(value) && planned !== undefined && !planned.includes(name);
  return { planned: values.filter((each) => !isRange(each)), ranges: values.filter(isRange), isKnown: planned !== undefined };
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

function packName(problem: Problem): string {
  return `${problem.operator}.mgpack`;
}

function launchLine(problem: Problem, words: Words): string {
  return words.isKnown
    ? `mgr_${problem.operator.replaceAll('.', '_')}(plan, stream, ${[...words.ranges.map(([, value]) => value), '...'].join(', ')});`
    : 'mgr_launch(plan, stream, dims, dim_count, tensors, ...);';
}

function cSource(problem: Problem): string {
  const words = wordsOf(problem);
  const { planned, ranges } = words;
  return [
    `#include <mgruntime/${words.isKnown ? 'operators' : 'mgruntime'}.h>`,
    'mgr_open_options_t open = {.struct_size = sizeof open,',
    `    .database = ${quoted(packName(problem))}};`,
    'mgr_open(&open, &context);',
    'mgr_assignment_t values[] = {',
    `    ${planned.map(([name, value]) => `{${quoted(name)}, ${quoted(value)}}`).join(', ')}};`,
    ...(ranges.length > 0 ? [`mgr_range_t ranges[] = {${ranges.map(([name, value]) => `{${quoted(name)}, 1, ${value}}`).join(', ')}};`] : []),
    'mgr_plan_options_t options = {',
    '    .struct_size = sizeof options,',
    `    .operator_name = ${quoted(problem.operator)},`,
    `    .assignments = values, .assignment_count = ${planned.length}${ranges.length > 0 ? ',' : '};'}`,
    ...(ranges.length > 0 ? [`    .ranges = ranges, .range_count = ${ranges.length}};`] : []),
    'mgr_plan(context, &options, &plan);  /* compiles */',
    launchLine(problem, words),
  ].join('\n');
}

function cppSource(problem: Problem): string {
  const { planned, ranges, isKnown } = wordsOf(problem);
  const dims = isKnown ? [...ranges.map(([, value]) => value), '...'].join(', ') : '...';
  return [
    '#include <mgruntime/mgruntime.hpp>',
    'mgr::OpenOptions options;',
    `options.database = ${quoted(packName(problem))};`,
    'auto context = mgr::Context::open(options);',
    `auto plan = context->plan(${quoted(problem.operator)},`,
    `    {${planned.map(([name, value]) => `{${quoted(name)}, ${quoted(value)}}`).join(', ')}},`,
    `    {${ranges.map(([name, value]) => `{${quoted(name)}, 1, ${value}}`).join(', ')}});`,
    `plan->launch({${dims}}, {/* tensors */}, {/* scalars */});`,
  ].join('\n');
}

function torchSource(problem: Problem): string {
  const call = kTorchCalls.find(([start]) => problem.operator.startsWith(start))?.[1];
  if (call === undefined) return '';
  return [
    `# MGTUNE_DB=${packName(problem)} in the environment`,
    'import mgtune.torch as mt',
    '',
    `${call}${problem.operator.includes('backward') ? '\ny.backward(dy)' : ''}`,
    '',
    'mt.patch(model)  # or: all such layers of a model',
  ].join('\n');
}

const kUnknownDims = 'Move the dims that the operator declares as dynamic from the values to the ranges.';

// In the order of the tabs, without the command line.
export function snippets(problem: Problem, pick: Pick): readonly Snippet[] {
  const note = pick.ship === '' ? '' : `mgtune pack writes ${packName(problem)}: see Command line.`;
  const dims = wordsOf(problem).isKnown ? note : `${note} ${kUnknownDims}`.trim();
  const torch = torchSource(problem);
  return [
    { name: 'C', code: cSource(problem), note: dims },
    { name: 'C++', code: cppSource(problem), note: dims },
    { name: 'PyTorch', code: torch, note: torch === '' ? 'The Python package has no function for this operator. Call it from C or C++.' : note },
  ];
}
