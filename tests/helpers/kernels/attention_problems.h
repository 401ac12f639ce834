// Problems and variants of the attention family, as text. Header-only.

#pragma once

#include <string>
#include <vector>

#include "tests/helpers/kernels/operator_check.h"

namespace mgtune {

struct PrefillShape {
  int seq_q, seq_k, head_dim, heads = 1, kv_heads = 1, batch = 1;
};

inline std::string prefill_problem(const PrefillShape& shape, const std::string& more) {
  const auto word = [](const char* name, int value) {
    return std::string(name) + "=" + std::to_string(value) + ",";
  };
  return word("batch", shape.batch) + word("seq_q", shape.seq_q) + word("seq_k", shape.seq_k) +
         word("heads", shape.heads) + word("kv_heads", shape.kv_heads) +
         word("head_dim", shape.head_dim) + more;
}

inline std::vector<std::string> prefill_problems(const std::vector<PrefillShape>& shapes,
                                                 const std::string& more) {
  std::vector<std::string> texts;
  for (const PrefillShape& shape : shapes) texts.push_back(prefill_problem(shape, more));
  return texts;
}

struct MmaSync {
  int block_m, block_n, warps, stages;
  bool q_in_regs = false, overlap = false;
  const char* row_sum = "alu";
  const char* rescale = "seldom";
  int blocks_per_sm = 2, heads_at_once = 1;

  std::string text() const {
    const auto word = [](const char* name, const std::string& value) {
      return " " + std::string(name) + "=" + value;
    };
    const auto truth = [](bool value) { return std::string(value ? "true" : "false"); };
    return "mma_sync" + word("BLOCK_M", std::to_string(block_m)) +
           word("BLOCK_N", std::to_string(block_n)) + word("WARPS", std::to_string(warps)) +
           word("STAGES", std::to_string(stages)) + word("Q_IN_REGS", truth(q_in_regs)) +
           word("OVERLAP", truth(overlap)) + word("ROW_SUM", row_sum) + word("RESCALE", rescale) +
           word("BLOCKS_PER_SM", std::to_string(blocks_per_sm)) +
           word("HEADS_AT_ONCE", std::to_string(heads_at_once));
  }
};

// One for all tests: it keeps what it builds.
inline OperatorCheck& prefill_check() {
  static OperatorCheck check("attention.prefill");
  return check;
}

inline void expect_prefill_right(const MmaSync& variant, const std::vector<PrefillShape>& shapes,
                                 const std::string& more) {
  prefill_check().expect_right({{variant.text(), prefill_problems(shapes, more)}});
}

}  // namespace mgtune
