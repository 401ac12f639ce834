// The numbers of admissible variants of the golden operators, counted with plain loops over the
// files' numbers: nothing in them comes from the code under test. Header-only.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "family/variant.h"

namespace mgtune {

using PlainList = std::vector<std::int64_t>;

inline std::uint64_t count_small_m(std::int64_t m, const DeviceLimits& device) {
  std::uint64_t count = 0;
  for (const std::int64_t rows : PlainList{8, 16, 32, 64}) {
    if (device.compute_capability >= 80 && m <= rows) count += 2U * 3U * 3U;
  }
  return count;
}

inline std::uint64_t count_gate_up_mma(const DeviceLimits& device) {
  if (device.compute_capability < 80) return 0;
  std::uint64_t count = 0;
  for (const std::int64_t bm : PlainList{32, 64, 128})
    for (const std::int64_t bn : PlainList{32, 64, 128})
      for (const std::int64_t bk : PlainList{32, 64})
        for (const std::int64_t stages : PlainList{2, 3, 4})
          if (stages * (bm + 2 * bn) * bk * 2 <= device.max_shared_bytes) count += 2U * 3U;
  return count;
}

inline std::uint64_t count_gate_up_wgmma(std::int64_t m, const DeviceLimits& device) {
  if (device.compute_capability != 90) return 0;
  std::uint64_t count = 0;
  for (const std::int64_t bm : PlainList{64, 128, 256})
    for (const std::int64_t bn : PlainList{64, 96, 128})
      for (const std::int64_t stages : PlainList{3, 4, 5, 6})
        for (const std::int64_t cluster : PlainList{1, 2}) {
          const std::int64_t shared = 1024 + stages * (bm + 2 * bn) * 64 * 2 + bm * bn * 2 + 256;
          if (shared > device.max_shared_bytes) continue;
          if (bm / 64 * 2 * bn > 512) continue;
          if (cluster != 1 && (m + bm - 1) / bm % cluster != 0) continue;
          count += 2U * 4U * 2U;
        }
  return count;
}

inline std::uint64_t count_last_block(std::int64_t hidden, std::int64_t element) {
  std::uint64_t count = 0;
  for (const std::int64_t vec : PlainList{1, 2, 4, 8}) {
    if (hidden % vec == 0 && vec * element <= 16) count += 3U * 3U;
  }
  return count;
}

struct Partials {
  std::int64_t threads_per_row, rows_per_block, vec, stages, cluster, load, pdl;
};

inline bool admits_partials(const Partials& p, std::int64_t hidden, std::int64_t x_stride,
                            std::int64_t element, const DeviceLimits& device) {
  const std::int64_t cc = device.compute_capability;
  if ((p.cluster > 1 || p.load == 2 || p.pdl == 1) && cc < 90) return false;
  if (p.load == 1 && cc < 80) return false;
  if (hidden % (p.vec * p.cluster) != 0 || p.vec * element > 16) return false;
  if (p.threads_per_row * p.cluster * p.vec > std::max<std::int64_t>(hidden, 32)) return false;
  const std::int64_t threads = p.threads_per_row * p.rows_per_block;
  if (threads % 32 != 0 || threads > 1024) return false;
  const std::int64_t staged =
      p.load == 0 ? 0 : p.stages * p.rows_per_block * 2 * (hidden / p.cluster) * element;
  return staged + 4 * 32 * p.rows_per_block <= device.max_shared_bytes && x_stride % p.vec == 0;
}

inline std::uint64_t count_partials(std::int64_t hidden, std::int64_t x_stride,
                                    std::int64_t element, const DeviceLimits& device) {
  std::uint64_t count = 0;
  for (const std::int64_t threads : PlainList{32, 64, 128, 256, 512, 1024})
    for (const std::int64_t rows : PlainList{1, 2, 4, 8})
      for (const std::int64_t vec : PlainList{1, 2, 4, 8})
        for (const std::int64_t stages : PlainList{1, 2, 3, 4})
          for (const std::int64_t cluster : PlainList{1, 2, 4, 8, 16})
            for (const std::int64_t load : PlainList{0, 1, 2})
              for (const std::int64_t pdl : PlainList{0, 1}) {
                const Partials p{threads, rows, vec, stages, cluster, load, pdl};
                if (admits_partials(p, hidden, x_stride, element, device)) count += 5U * 2U * 4U;
              }
  return count;
}

struct Wgmma {
  std::int64_t wg, bn, stages, p_in_regs, overlap, pingpong, reg_prod, reg_cons, cluster_m;
};

inline bool admits_wgmma(const Wgmma& p, std::int64_t seq_q, bool causal,
                         const DeviceLimits& device) {
  const std::int64_t head_dim = 128, bm = 64 * p.wg, tiles_m = (seq_q + bm - 1) / bm;
  const std::int64_t p_bytes = p.p_in_regs == 1 ? 0 : bm * p.bn * 2;
  const std::int64_t shared =
      1024 + bm * head_dim * 2 + 2 * p.stages * p.bn * head_dim * 2 + p_bytes + 256;
  const std::int64_t registers =
      (bm * p.bn + bm * head_dim) / (p.wg * 128) + (p.overlap == 1 ? bm * p.bn / (p.wg * 256) : 0);
  return shared <= device.max_shared_bytes && 128 * (p.reg_prod + p.wg * p.reg_cons) <= 65536 &&
         registers + 24 <= p.reg_cons && (p.pingpong == 0 || p.wg >= 2) &&
         (p.p_in_regs == 0 || p.bn % 16 == 0) &&
         (p.cluster_m == 1 || (!causal && tiles_m % p.cluster_m == 0));
}

inline std::uint64_t count_prefill_wgmma(std::int64_t seq_q, bool causal,
                                         const DeviceLimits& device) {
  if (device.compute_capability != 90) return 0;
  std::uint64_t count = 0;
  for (const std::int64_t wg : PlainList{1, 2, 3})
    for (const std::int64_t bn : PlainList{64, 80, 96, 112, 128, 144, 160, 176, 192, 224})
      for (const std::int64_t stages : PlainList{1, 2, 3, 4})
        for (const std::int64_t p_in_regs : PlainList{0, 1})
          for (const std::int64_t overlap : PlainList{0, 1})
            for (const std::int64_t pingpong : PlainList{0, 1})
              for (const std::int64_t reg_prod : PlainList{24, 32, 40, 56})
                for (const std::int64_t reg_cons : PlainList{160, 168, 200, 216, 232, 240})
                  for (const std::int64_t cluster_m : PlainList{1, 2}) {
                    const Wgmma p{wg,       bn,       stages,   p_in_regs, overlap,
                                  pingpong, reg_prod, reg_cons, cluster_m};
                    // SCHED and L2_SECTION_MB: 1 + 1 + 4 pairs; EPILOGUE: 2.
                    if (admits_wgmma(p, seq_q, causal, device)) count += 6U * 2U;
                  }
  return count;
}

inline std::uint64_t count_prefill_mma(bool causal, const DeviceLimits& device) {
  if (device.compute_capability < 80) return 0;
  std::uint64_t count = 0;
  for (const std::int64_t bm : PlainList{32, 64, 128})
    for (const std::int64_t bn : PlainList{32, 48, 64, 80, 96, 112, 128})
      for (const std::int64_t warps : PlainList{2, 4, 8})
        for (const std::int64_t stages : PlainList{1, 2, 3})
          for (const bool q_in_regs : {false, true})
            for (const bool share_qk : {false, true}) {
              const std::int64_t first = share_qk ? std::max(bm, stages * bn) : bm + stages * bn;
              const std::int64_t shared = first * 128 * 2 + stages * bn * 128 * 2;
              if (bm < 16 * warps || shared > device.max_shared_bytes) continue;
              if (share_qk && !q_in_regs) continue;
              count += 2U * 3U * (causal ? 2U : 1U);
            }
  return count;
}

inline std::uint64_t count_decode(const DeviceLimits& device) {
  const std::int64_t cc = device.compute_capability;
  if (cc < 80) return 0;
  std::uint64_t count = 0;
  for (const std::int64_t group : PlainList{16, 32, 64})
    for (const std::int64_t bn : PlainList{32, 64, 128, 256})
      for (const std::int64_t warps : PlainList{2, 4, 8})
        for (const std::int64_t stages : PlainList{2, 3, 4, 6})
          for (const std::int64_t kv_warps : PlainList{1, 2, 4})
            for (const bool bulk : {false, true})
              for (const bool pdl : {false, true, false}) {
                if ((bulk || pdl) && cc < 90) continue;
                const std::int64_t shared = group * 128 * 2 + 2 * stages * bn * 128 * 2;
                if (shared > device.max_shared_bytes || warps % kv_warps != 0) continue;
                if (64 % std::min<std::int64_t>(64, bn) != 0) continue;
                count += 7U * 2U;
              }
  return count;
}

}  // namespace mgtune
