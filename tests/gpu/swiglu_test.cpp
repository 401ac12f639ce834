// The swiglu operators on a real GPU: variants of the whole space, those with dependent launches
// among them, give what the fp64 reference gives, launched one after the other.

#include <gtest/gtest.h>

#include "tests/helpers/kernels/variants_on_gpu.h"
#include "tests/helpers/long_lane.h"

namespace mgtune {
namespace {

class SwigluOnGpu : public VariantsOnGpu, public testing::WithParamInterface<ProblemOnGpu> {};

TEST_P(SwigluOnGpu, VariantsEqualTheReference) {
  check_every(in_long_lane<std::size_t>(1, 7), GetParam(), 0,
              [](Checker&, const LoadedVariant&, const CheckRecord&) {});
}

INSTANTIATE_TEST_SUITE_P(
    Problems, SwigluOnGpu,
    testing::Values(ProblemOnGpu{"swiglu.forward", "rows=16,hidden=14336,T=bf16"},
                    ProblemOnGpu{"swiglu.forward", "rows=517,hidden=3001,T=f16"},
                    ProblemOnGpu{"swiglu.forward", "rows=300,hidden=4096,gate_stride=8192,T=f32"},
                    ProblemOnGpu{"swiglu.packed_forward", "rows=16,hidden=1000,T=bf16"},
                    ProblemOnGpu{"swiglu.packed_forward", "rows=1027,hidden=1004,T=f32"},
                    ProblemOnGpu{"swiglu.backward", "rows=16,hidden=14336,T=bf16"},
                    ProblemOnGpu{"swiglu.backward", "rows=517,hidden=3001,T=f32"},
                    ProblemOnGpu{"swiglu.backward", "rows=300,hidden=4096,up_stride=8192,T=f16"},
                    ProblemOnGpu{"swiglu.packed_backward", "rows=1027,hidden=1004,T=bf16"}));

}  // namespace
}  // namespace mgtune
