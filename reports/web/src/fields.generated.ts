// Made by mgtune_page_fields from store/records.h. Do not edit.

import { flag, number, numbers, object, orAbsent, text } from './decode';

const kNoNumbers = new Float64Array();

export const gpu = object({
  model: text,
  arch: text,
  sm_count: number,
  l2_bytes: number,
  memory_bytes: number,
  max_shared_bytes: number,
  mig_profile: text,
  emulation: flag,
});

export const clocks = object({
  sm_mhz: number,
  memory_mhz: number,
  power_w: number,
  temperature_c: number,
  throttle_reasons: text,
  throttled_samples: number,
});

export const finalistFields = {
  median_ns: number,
  low_ns: number,
  high_ns: number,
  ratio: number,
  ratio_low: number,
  ratio_high: number,
  tied: flag,
};

// One entry per variant.
export const variantColumns = {
  median_ns: numbers,
  low_ns: numbers,
  high_ns: numbers,
  q1_ns: numbers,
  q3_ns: numbers,
  min_ns: numbers,
  samples: numbers,
  registers: numbers,
  spill_bytes: numbers,
  static_shared_bytes: numbers,
  code_bytes: orAbsent(numbers, kNoNumbers),
  ptx_bytes: orAbsent(numbers, kNoNumbers),
};
