// KernelCall: the launch of a tuned operator that does what an instruction says. Plain data, and a
// pure function that makes it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"

namespace mgtune::engine {

struct KernelCall {
  std::string operator_name;                                     // "linear.decode"
  std::vector<std::pair<std::string, std::string>> assignments;  // static dims, dtypes, flags
  std::vector<std::pair<std::string, std::int64_t>> dims;  // in the operator's order; -1: default
  std::vector<std::uint32_t> tensors;                      // buffers, or kNone
  std::vector<double> scalars;
};

// Operator, assignments and dims: calls with the same text can share a plan.
std::string text_of(const KernelCall& call);

// nullopt if no operator does the instruction: for mixtures of dtypes that no kernel has, heads of
// more than 256 elements, and barriers. The program must be valid.
std::optional<KernelCall> kernel_call(const Program& program, const Instruction& instruction);

}  // namespace mgtune::engine
