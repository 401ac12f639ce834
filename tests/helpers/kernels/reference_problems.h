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

REFERENCE_PROBLEM(RmsnormReferenceProblem, long long rows, hidden, x_stride, s_stride;
                  float eps, weight_offset);

REFERENCE_PROBLEM(SwigluReferenceProblem, long long rows, hidden, dy_stride, gate_stride, up_stride,
                  gate_up_stride);

REFERENCE_PROBLEM(VarlenReferenceProblem, long long sequences, tokens_q, heads, kv_heads, head_dim,
                  window;
                  long long q_ss, q_sh, k_ss, k_sh, v_ss, v_sh; float scale, softcap;
                  bool causal, windowed, capped);

}  // namespace mgtune
