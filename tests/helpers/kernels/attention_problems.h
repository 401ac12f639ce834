// Problems and variants of the attention family, as text. Header-only.

#pragma once

#include <string>
#include <vector>

#include "tests/helpers/environment_variable.h"
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

// The same for the gradients. The device has the shared memory of Hopper, and says 9.0.
inline OperatorCheck& backward_check() {
  const Variable capability("MGTUNE_CPU_COMPUTE_CAPABILITY", "90");
  static OperatorCheck check("attention.backward");
  return check;
}

inline void expect_backward_right(const std::string& variant,
                                  const std::vector<PrefillShape>& shapes,
                                  const std::string& more) {
  backward_check().expect_right({{variant, prefill_problems(shapes, more)}});
}

// Gaps between batches, rows and heads of all tensors of 10 queries, 40 keys, 2 heads of 64 and 2
// batches.
inline constexpr char kBackwardGaps[] =
    "q_sb=2000,q_ss=160,q_sh=72,k_sb=8000,k_ss=184,k_sh=80,v_sb=9600,v_ss=240,v_sh=64,"
    "o_sb=1600,o_ss=136,o_sh=64,dout_sb=1800,dout_ss=144,dout_sh=80,dq_sb=1640,dq_ss=152,"
    "dq_sh=72,dk_sb=6400,dk_ss=160,dk_sh=80,dv_sb=5600,dv_ss=136,dv_sh=72,T=f16";

// The same tensors with the heads before the rows, for one batch.
inline constexpr char kBackwardHeadsFirst[] =
    "q_ss=64,q_sh=640,k_ss=64,k_sh=2560,v_ss=64,v_sh=2560,o_ss=64,o_sh=640,"
    "dout_ss=64,dout_sh=640,dq_ss=64,dq_sh=640,dk_ss=64,dk_sh=2560,dv_ss=64,"
    "dv_sh=2560,T=bf16";

}  // namespace mgtune
