#include "program/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

namespace mgtune::engine {
namespace {

constexpr std::array kEmbedUses = {
    OperandUse{Operand::tokens, Access::read, true},
    OperandUse{Operand::weight, Access::read, true},
    OperandUse{Operand::positions, Access::read, false},
    OperandUse{Operand::table, Access::read, false},
    OperandUse{Operand::output, Access::write, true},
};
constexpr std::array kNormUses = {
    OperandUse{Operand::input, Access::read, true},
    OperandUse{Operand::norm_weight, Access::read, true},
    OperandUse{Operand::norm_bias, Access::read, false},
    OperandUse{Operand::output, Access::write, true},
};
constexpr std::array kLinearUses = {
    OperandUse{Operand::input, Access::read, true},
    OperandUse{Operand::weight, Access::read, true},
    OperandUse{Operand::bias, Access::read, false},
    OperandUse{Operand::norm_weight, Access::read, false},
    OperandUse{Operand::norm_bias, Access::read, false},
    OperandUse{Operand::residual, Access::read, false},
    OperandUse{Operand::positions, Access::read, false},
    OperandUse{Operand::table, Access::read, false},
    OperandUse{Operand::output, Access::write, true},
    OperandUse{Operand::keys, Access::update, false},
    OperandUse{Operand::values, Access::update, false},
};
constexpr std::array kAttentionUses = {
    OperandUse{Operand::input, Access::read, true},
    OperandUse{Operand::keys, Access::read, true},
    OperandUse{Operand::values, Access::read, true},
    OperandUse{Operand::lengths, Access::read, true},
    OperandUse{Operand::output, Access::write, true},
};
constexpr std::array kAttentionPartialUses = {
    OperandUse{Operand::input, Access::read, true},
    OperandUse{Operand::keys, Access::read, true},
    OperandUse{Operand::values, Access::read, true},
    OperandUse{Operand::lengths, Access::read, true},
    OperandUse{Operand::output, Access::write, true},
    OperandUse{Operand::statistics, Access::write, true},
};
constexpr std::array kAttentionReduceUses = {
    OperandUse{Operand::input, Access::read, true},
    OperandUse{Operand::statistics, Access::read, true},
    OperandUse{Operand::output, Access::write, true},
};
constexpr std::array kArgmaxUses = {
    OperandUse{Operand::input, Access::read, true},
    OperandUse{Operand::tokens, Access::write, true},
    OperandUse{Operand::positions, Access::update, false},
    OperandUse{Operand::lengths, Access::update, false},
};
constexpr std::array kSampleUses = {
    OperandUse{Operand::input, Access::read, true},
    OperandUse{Operand::sampling, Access::read, true},
    OperandUse{Operand::tokens, Access::write, true},
    OperandUse{Operand::positions, Access::update, false},
    OperandUse{Operand::lengths, Access::update, false},
};
constexpr std::array kCopyUses = {
    OperandUse{Operand::input, Access::read, true},
    OperandUse{Operand::output, Access::write, true},
};
constexpr std::array kZeroUses = {OperandUse{Operand::output, Access::write, true}};

using Sizes = std::vector<std::uint32_t Instruction::*>;

// The sizes that must not be zero. All others must be zero, but for the window of attention.
Sizes used_sizes(const Instruction& instruction) {
  using I = Instruction;
  switch (instruction.opcode) {
    case Opcode::embed:
      if (instruction.has(Operand::table)) return {&I::rows, &I::in, &I::out, &I::capacity};
      return {&I::rows, &I::in, &I::out};
    case Opcode::norm:
      return {&I::rows, &I::in, &I::out};
    case Opcode::linear:
      if (!appends(instruction)) return {&I::rows, &I::in, &I::out};
      return {&I::rows, &I::in, &I::out, &I::heads, &I::kv_heads, &I::head_dim, &I::capacity};
    case Opcode::attention:
      return {&I::rows, &I::heads, &I::kv_heads, &I::head_dim, &I::capacity};
    case Opcode::attention_partial:
      return {&I::rows, &I::heads, &I::kv_heads, &I::head_dim, &I::capacity, &I::splits};
    case Opcode::attention_reduce:
      return {&I::rows, &I::heads, &I::head_dim, &I::splits};
    case Opcode::argmax:
    case Opcode::sample:
      return {&I::rows, &I::in};
    case Opcode::copy:
    case Opcode::zero:
      return {&I::rows, &I::out};
    case Opcode::barrier:
      break;
  }
  return {};
}

bool is_attention(Opcode opcode) {
  return opcode == Opcode::attention || opcode == Opcode::attention_partial;
}

bool is_positive(float value) { return std::isfinite(value) && value > 0; }

std::string norm_mistake(const Instruction& i) {
  if (i.opcode != Opcode::norm && i.opcode != Opcode::linear && i.norm != Norm::none) {
    return "it has no norm";
  }
  if (i.opcode == Opcode::norm && i.norm == Norm::none) return "norm must be rms or layer";
  if (i.norm == Norm::none) {
    if (i.has(Operand::norm_weight) || i.has(Operand::norm_bias)) {
      return "it has a weight or bias of a norm, but no norm";
    }
    return i.epsilon == 0 && !std::signbit(i.epsilon) ? "" : "epsilon is set, but there is no norm";
  }
  if (!i.has(Operand::norm_weight)) return "the norm has no norm_weight";
  if (i.norm == Norm::rms && i.has(Operand::norm_bias)) return "an rms norm has no norm_bias";
  return is_positive(i.epsilon) ? "" : "epsilon must be a positive number";
}

std::string append_mistake(const Instruction& i) {
  for (const Operand operand : {Operand::keys, Operand::values, Operand::positions}) {
    if (!i.has(operand)) {
      return fmt::format("a linear instruction that appends to a cache needs {}",
                         to_string(operand));
    }
  }
  if (i.has(Operand::residual) || i.activation != Activation::none) {
    return "a linear instruction that appends to a cache has no activation and no residual";
  }
  const auto columns = (i.heads + 2 * std::uint64_t{i.kv_heads}) * i.head_dim;
  if (i.out != columns) return "out must be (heads + 2 * kv_heads) * head_dim";
  if ((i.rotation != Rotation::none) != i.has(Operand::table)) {
    return "a rotation and its table go together";
  }
  return i.rotation != Rotation::none && i.head_dim % 2 != 0 ? "head_dim must be even" : "";
}

std::string linear_mistake(const Instruction& i) {
  if (appends(i)) return append_mistake(i);
  if (i.rotation != Rotation::none || i.has(Operand::table) || i.has(Operand::positions)) {
    return "only a linear instruction that appends to a cache has a rotation, a table or positions";
  }
  return i.activation == Activation::silu_gate && i.out % 2 != 0
             ? "out must be even: half of it are gates"
             : "";
}

}  // namespace

std::span<const OperandUse> operand_uses(Opcode opcode) {
  switch (opcode) {
    case Opcode::embed:
      return kEmbedUses;
    case Opcode::norm:
      return kNormUses;
    case Opcode::linear:
      return kLinearUses;
    case Opcode::attention:
      return kAttentionUses;
    case Opcode::attention_partial:
      return kAttentionPartialUses;
    case Opcode::attention_reduce:
      return kAttentionReduceUses;
    case Opcode::argmax:
      return kArgmaxUses;
    case Opcode::sample:
      return kSampleUses;
    case Opcode::copy:
      return kCopyUses;
    case Opcode::zero:
      return kZeroUses;
    case Opcode::barrier:
      break;
  }
  return {};
}

bool appends(const Instruction& instruction) {
  return instruction.opcode == Opcode::linear &&
         (instruction.has(Operand::keys) || instruction.has(Operand::values));
}

std::uint64_t output_columns(const Instruction& i) {
  if (appends(i) || is_attention(i.opcode) || i.opcode == Opcode::attention_reduce) {
    return std::uint64_t{i.heads} * i.head_dim;
  }
  return i.activation == Activation::silu_gate ? i.out / 2 : i.out;
}

std::optional<std::uint64_t> needed_elements(const Instruction& i, Operand operand) {
  const auto product = [](std::initializer_list<std::uint64_t> factors) {
    std::optional<std::uint64_t> result = 1;
    for (const std::uint64_t factor : factors) {
      constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
      if (factor != 0 && *result > kMax / factor) return std::optional<std::uint64_t>();
      *result *= factor;
    }
    return result;
  };
  switch (operand) {
    case Operand::input:
      if (is_attention(i.opcode)) return product({i.rows, i.heads, i.head_dim});
      if (i.opcode == Opcode::attention_reduce) {
        return product({i.rows, i.heads, i.splits, i.head_dim});
      }
      return product({i.rows, i.opcode == Opcode::copy ? i.out : i.in});
    case Operand::output:
      if (i.opcode == Opcode::attention_partial) {
        return product({i.rows, i.heads, i.splits, i.head_dim});
      }
      return product({i.rows, output_columns(i)});
    case Operand::weight:
      return product({i.out, i.in});
    case Operand::bias:
      return i.out;
    case Operand::norm_weight:
    case Operand::norm_bias:
      return i.in;
    case Operand::residual:
      return product({i.rows, output_columns(i)});
    case Operand::tokens:
    case Operand::positions:
    case Operand::lengths:
      return i.rows;
    case Operand::table:
      return product({i.capacity, i.opcode == Opcode::embed ? i.out : i.head_dim});
    case Operand::keys:
    case Operand::values:
      return product({i.rows, i.capacity, i.kv_heads, i.head_dim});
    case Operand::statistics:
      return product({i.rows, i.heads, i.splits});
    case Operand::sampling:
      break;
  }
  return product({i.rows, 3});
}

std::string size_mistake(const Instruction& i) {
  const Sizes used = used_sizes(i);
  constexpr std::uint32_t kMaxSize = 1U << 30;
  for (const SizeField& field : kSizeFields) {
    const std::uint32_t size = i.*field.member;
    const bool is_used = std::ranges::find(used, field.member) != used.end();
    if (is_used && size == 0) return fmt::format("{} must not be zero", field.name);
    const bool may_be_set = is_used || (field.name == "window" && is_attention(i.opcode));
    if (!may_be_set && size != 0) return fmt::format("{} has no meaning here", field.name);
    if (size > kMaxSize) return fmt::format("{} must be at most {}", field.name, kMaxSize);
  }
  if (i.rows > kMaxRows) return fmt::format("rows must be at most {}", kMaxRows);
  if (i.splits > kMaxSplits) return fmt::format("splits must be at most {}", kMaxSplits);
  if (i.kv_heads != 0 && i.heads % i.kv_heads != 0) return "heads must be a multiple of kv_heads";
  if (i.opcode == Opcode::norm && i.in != i.out) return "in and out of a norm must be equal";
  if (i.opcode == Opcode::embed && i.has(Operand::table) != i.has(Operand::positions)) {
    return "table and positions go together";
  }
  if (i.opcode != Opcode::linear &&
      (i.activation != Activation::none || i.rotation != Rotation::none)) {
    return "only a linear instruction has an activation or a rotation";
  }
  if (is_attention(i.opcode) ? !is_positive(i.scale) : i.scale != 0 || std::signbit(i.scale)) {
    return is_attention(i.opcode) ? "scale must be a positive number"
                                  : "only attention has a scale";
  }
  if (std::string mistake = norm_mistake(i); !mistake.empty()) return mistake;
  return i.opcode == Opcode::linear ? linear_mistake(i) : "";
}

}  // namespace mgtune::engine
