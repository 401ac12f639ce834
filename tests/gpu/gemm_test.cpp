// gemm.forward and swiglu.gate_up on a real GPU: variants of the whole space, those with dependent
// launches among them, give what the fp64 reference gives, launched one after the other.

#include <gtest/gtest.h>

#include "tests/helpers/kernels/variants_on_gpu.h"
#include "tests/helpers/long_lane.h"

namespace mgtune {
namespace {

class GemmOnGpu : public VariantsOnGpu, public testing::WithParamInterface<ProblemOnGpu> {};

TEST_P(GemmOnGpu, VariantsEqualTheReference) {
  check_every(in_long_lane<std::size_t>(7, 101), GetParam(), 64,
              [](Checker&, const LoadedVariant&, const CheckRecord&) {});
}

INSTANTIATE_TEST_SUITE_P(
    Problems, GemmOnGpu,
    testing::Values(
        ProblemOnGpu{"gemm.forward", "m=3,n=1032,k=4104,bias=true,T=bf16"},
        ProblemOnGpu{"gemm.forward", "m=16,n=4096,k=4096,residual=true,silu=true,T=f16"},
        ProblemOnGpu{"gemm.forward", "m=70,n=520,k=2056,gelu=true,T=bf16"},
        ProblemOnGpu{"gemm.forward", "m=1001,n=1032,k=1032,x_stride=1040,y_stride=1048,T=bf16"},
        // Tiles that blocks of a cluster share, with unequal numbers of slabs.
        ProblemOnGpu{"gemm.forward", "m=500,n=1000,k=4168,bias=true,silu=true,T=bf16"},
        ProblemOnGpu{"gemm.forward", "m=500,n=504,k=3592,residual=true,T=f16"},
        ProblemOnGpu{"swiglu.gate_up", "m=3,n=1032,k=4104,T=bf16"},
        ProblemOnGpu{"swiglu.gate_up", "m=1001,n=520,k=1032,gate=true,up=true,T=f16"}));

}  // namespace
}  // namespace mgtune
