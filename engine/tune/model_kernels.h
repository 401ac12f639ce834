// The kernels of a model: the distinct problems that its programs launch, and how often a token
// launches each. Pure functions, but for the catalog, which decodes operators.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "program/program.h"
#include "steps/kernel_call.h"

namespace mgtune::engine {

struct ModelKernel {
  KernelCall call;
  Problem problem;
  std::uint32_t count = 0;      // launches per token, in the program that has most of them
  double mean_count = 0;        // launches per token, the mean over the programs
  double bytes = 0, flops = 0;  // of one launch, by the costs of the operator
};

// The program that serves each of the positions, in their order. All positions must be below the
// capacity.
std::vector<Program> programs_at(std::span<const Program> programs,
                                 std::span<const std::uint32_t> positions);

// The kernels that move most bytes per token come first. The programs must be valid; the catalog
// must outlive the result. Instructions that the host executes are left out. A program may occur
// several times, and then has more weight in the mean.
Result<std::vector<ModelKernel>> model_kernels(std::span<const Program> programs, Catalog& catalog);

// A recording of the problems for 'mgtune sweep --shapes', as a program with MGTUNE_RECORD writes
// it, with the launches per token.
std::string recording_of(std::span<const ModelKernel> kernels);

}  // namespace mgtune::engine
