// The structs `Problem` with which tests launch the reference kernels of the shipped families by
// hand. REFERENCE_PROBLEM(NAME, MEMBERS...) declares a struct NAME and kNAMEText, its definition as
// the text that CpuModule::build_reference() takes. A struct may have members that a kernel does
// not read, so one struct serves all operators of a family.

#pragma once

#define REFERENCE_PROBLEM(name, ...) \
  struct name {                      \
    __VA_ARGS__;                     \
  };                                 \
  inline constexpr char k##name##Text[] = "struct Problem { " #__VA_ARGS__ "; };\n#line 1\n"

namespace mgtune {

REFERENCE_PROBLEM(RmsnormReferenceProblem, long long rows = 0, hidden = 0, x_stride = 0,
                  s_stride = 0;
                  float eps = 0, weight_offset = 0);

REFERENCE_PROBLEM(SwigluReferenceProblem, long long rows = 0, hidden = 0, dy_stride = 0;
                  long long gate_stride = 0, up_stride = 0, gate_up_stride = 0);

REFERENCE_PROBLEM(VarlenReferenceProblem, long long sequences = 0, tokens_q = 0, heads = 0;
                  long long kv_heads = 0, head_dim = 0, value_dim = 0, window = 0, q_ss = 0;
                  long long q_sh = 0, k_ss = 0, k_sh = 0, v_ss = 0, v_sh = 0;
                  float scale = 0, softcap = 0;
                  bool causal = false, windowed = false, capped = false);

REFERENCE_PROBLEM(AttentionBackwardReferenceProblem, long long batch = 0, seq_q = 0, seq_k = 0;
                  long long heads = 0, kv_heads = 0, head_dim = 0, q_sb = 0, q_ss = 0, q_sh = 0;
                  long long k_sb = 0, k_ss = 0, k_sh = 0, v_sb = 0, v_ss = 0, v_sh = 0, o_sb = 0;
                  long long o_ss = 0, o_sh = 0, dout_sb = 0, dout_ss = 0, dout_sh = 0;
                  float scale = 0; bool causal = false);

}  // namespace mgtune
