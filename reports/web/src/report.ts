// The document that mgtune hands to the page (reports/README.md, format 2), checked and typed.

import {
  DataError, type Decoded, type Decoder, flag, indices, list, number, numbers, object, oneOf, orAbsent, orNull,
  pairs, text, word,
} from './decode';
import { clocks, finalistFields, gpu, variantColumns } from './fields.generated';

const maybe = orNull(number);

const missing = object({ text, command: text });

const variants = object({
  design: indices, outcome: indices, method: indices, ...variantColumns, error: numbers,
  message: indices, log: orAbsent(indices, new Int32Array()), flags: indices, order: numbers, seconds: numbers, sweep: indices,
});

const problem = object({
  gpu: number, operator: text, problem: text, values: pairs(word), bytes: number, flops: number,
  tolerance: maybe, rerun: text, first: number, count: number,
  designs: list(object({ name: text, parameters: indices })),
  parameters: list(object({ name: text, values: list(word), index: indices })),
  variants,
});

const ceiling = object({ name: text, fraction: number, text });

const pick = object({
  problem: number, method: number, row: maybe, variant: text, design: text,
  time_ns: number, low_ns: maybe, high_ns: maybe,
  default_row: maybe, default_variant: text, default_ns: maybe,
  standing: oneOf('faster', 'tie', 'default_fastest', 'no_default'),
  speedup: maybe, speedup_low: maybe, speedup_high: maybe,
  baseline: orNull(object({
    variant: text, time_ns: number, speedup: number, speedup_low: maybe, speedup_high: maybe,
    verdict: oneOf('faster', 'slower', 'same', 'unsure'),
  })),
  ceiling: orNull(ceiling), ceilings: list(ceiling), bandwidth_gbps: maybe, gflops: maybe,
  noise_floor: maybe, tied: list(text), against_default: list(text),
  why: orAbsent(list(text), []), limit: text, next: orAbsent(orNull(object({ text, command: text })), null), variants_ok: number, variants_failed: number,
  imported: flag, registers: maybe, spill_bytes: maybe, sweep: maybe, use: text, ship: text,
});

const roofline = object({
  ceilings: list(object({
    gpu: number, method: number, kind: text, label: text, unit: oneOf('bytes/s', 'flop/s'),
    rate: number, bytes: number, measured_at: text,
  })),
  bandwidth_by_size: list(object({
    gpu: number, method: number, kind: text, bytes: numbers, rate: numbers,
  })),
  points: list(object({
    problem: number, method: number, row: maybe, role: oneOf('pick', 'default', 'variant'),
    intensity: number, flops_per_s: number, bytes_per_s: number, measured_intensity: maybe, limit: text,
  })),
});

const importance = object({
  problem: number, method: number, variants: number, design_share: maybe, note: text,
  designs: list(object({
    design: number, variants: number, spread: number,
    parameters: list(object({
      parameter: number, main: number, total: maybe,
      effects: list(object({
        value: number, variants: number, ratio: number, low: number, high: number, best_ratio: number,
      })),
    })),
    interactions: list(object({ a: number, b: number, share: number })),
  })),
});

const bestSoFar = object({
  problem: number, method: number, evaluations: number, seconds: maybe, order_known: flag,
  steps: list(object({ evaluation: number, seconds: maybe, best_ns: number, row: number })),
  default_ns: maybe,
});

const final = object({
  problem: number, method: number, noise_floor: number, rounds: number, note: text, not_counted: text,
  clocks,
  finalists: list(object({
    row: maybe, variant: text, is_default: flag, is_pick: flag, ...finalistFields, samples_ns: numbers,
  })),
});

const sizes = object({
  gpu: number, operator: text, method: number, dim: text, fixed: pairs(word),
  points: list(object({
    problem: number, pick: number, size: number, time_ns: number, low_ns: maybe, high_ns: maybe,
    default_ns: maybe, copy_ns: maybe, variant: text,
  })),
  boundaries: list(object({ at: number, below: text, above: text })),
});

const peer = object({
  gpu: number, operator: text, problem: text, method: text, name: text, version: text, median_ns: number,
  measured_at: orAbsent(text, ''),
});

const report = object({
  format: number, generated_at: text, mgtune_version: text, title: text, live: flag,
  emulation: flag, emulation_note: text, verdict: list(text),
  counts: list(object({ outcome: text, count: number, failed: flag })),
  outcomes: list(text), methods: list(object({ name: text, description: text })), messages: list(text),
  gpus: list(gpu), missing: pairs(orNull(missing)), problems: list(problem), picks: list(pick), roofline,
  importance: list(importance), best_so_far: list(bestSoFar), finals: list(final), sizes: list(sizes),
  peers: orAbsent(list(peer), []),
  counters: list(object({
    problem: number, row: maybe, variant: text, is_pick: flag, limit: text,
    values: list(object({ name: text, value: maybe })),
  })),
  failures: list(object({
    outcome: number, explanation: text, message: number, headline: text, count: number, rows: list(number),
  })),
  pruning: list(object({ gpu: number, operator: text, problem: text, design: text, rule: text, count: number })),
  sweeps: list(object({
    id: number, command: text, repeat: text, strategy: text, budget: text, started_at: text,
    finished_at: orNull(text), gpu: number, machine: number, imported: flag, variants: number,
  })),
  machines: list(object({ gpu: number, driver: text, compiler: text, system: text, mgtune_version: text })),
  builds: list(object({ problem: number, row: maybe, variant: text, role: text, sha256: text })),
  measured: list(text), compile_logs: orAbsent(list(text), []),
});

export type Report = Decoded<typeof report>;
export type Gpu = Decoded<typeof gpu>;
export type Problem = Decoded<typeof problem>;
export type Pick = Decoded<typeof pick>;
export type Peer = Decoded<typeof peer>;
export type Importance = Decoded<typeof importance>;
export type Final = Decoded<typeof final>;
export type Sizes = Decoded<typeof sizes>;
export type Ceiling = Report['roofline']['ceilings'][number];
export type RooflinePoint = Report['roofline']['points'][number];

export const kFormat = 2;

// Bits of variants.flags.
export const kPick = 1;
export const kDefault = 2;
export const kImported = 4;
export const kFinalist = 8;
export const kTied = 16;
export const kThrottled = 32;
export const kRanked = 64;

const format: Decoder<{ readonly format: number }> = object({ format: number });

export function decodeReport(json: string): Report {
  const value: unknown = JSON.parse(json);
  const found = format(value, '').format;
  if (found !== kFormat) {
    throw new DataError(`/format: this page reads format ${kFormat}, the data has ${found}`);
  }
  return report(value, '');
}
