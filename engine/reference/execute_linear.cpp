#include "reference/execute_linear.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

#include "program/operation.h"

namespace mgtune::engine {
namespace {

// Eight sums side by side, which the compiler can keep in vector registers.
double dot_product(std::span<const float> a, std::span<const float> b) {
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= a.size(); i += sums.size()) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += double{a[i + k]} * b[i + k];
  }
  double sum = 0;
  for (; i < a.size(); ++i) sum += double{a[i]} * b[i];
  for (const double part : sums) sum += part;
  return sum;
}

// The input of a row, after the norm if there is one.
std::vector<float> normed_input(const RowAccess& access, std::uint32_t row) {
  const Instruction& instruction = access.instruction();
  std::vector<float> x =
      access.load(Operand::input, std::uint64_t{row} * instruction.in, instruction.in);
  if (instruction.norm == Norm::none) return x;
  double mean = 0;
  if (instruction.norm == Norm::layer) {
    for (const float value : x) mean += value;
    mean /= instruction.in;
  }
  double squares = 0;
  for (const float value : x) squares += (value - mean) * (value - mean);
  const double factor = 1 / std::sqrt(squares / instruction.in + instruction.epsilon);
  const std::vector<float> weight = access.load(Operand::norm_weight, 0, instruction.in);
  std::vector<float> bias(instruction.in);
  if (instruction.norm == Norm::layer && access.instruction().has(Operand::norm_bias)) {
    bias = access.load(Operand::norm_bias, 0, instruction.in);
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>((x[i] - mean) * factor * weight[i] + bias[i]);
  }
  return x;
}

float gelu_tanh(double v) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v);
  return static_cast<float>(0.5 * v * (1 + std::tanh(inner)));
}

float silu_gate(double gate, double up) {
  return static_cast<float>(gate / (1 + std::exp(-gate)) * up);
}

std::vector<float> activated(const Instruction& instruction, const std::vector<float>& v) {
  if (instruction.activation == Activation::none) return v;
  const bool is_gated = instruction.activation == Activation::silu_gate;
  std::vector<float> result(is_gated ? v.size() / 2 : v.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = is_gated ? silu_gate(v[i], v[i + result.size()]) : gelu_tanh(v[i]);
  }
  return result;
}

// Rotates all heads of `heads`, which lie one after the other.
void rotate_heads(const Instruction& instruction, std::span<const float> table,
                  std::span<float> heads) {
  const std::size_t half = instruction.head_dim / 2;
  for (std::size_t head = 0; head < heads.size(); head += instruction.head_dim) {
    for (std::size_t i = 0; i < half; ++i) {
      const bool is_halves = instruction.rotation == Rotation::halves;
      float& a = heads[head + (is_halves ? i : 2 * i)];
      float& b = heads[head + (is_halves ? i + half : 2 * i + 1)];
      const double cosine = table[2 * i];
      const double sine = table[2 * i + 1];
      const double turned = a * cosine - b * sine;
      b = static_cast<float>(b * cosine + a * sine);
      a = static_cast<float>(turned);
    }
  }
}

Status append_row(RowAccess& access, std::uint32_t row, std::vector<float>& v) {
  const Instruction& instruction = access.instruction();
  MGTUNE_ASSIGN(const std::uint32_t position, position_of(access, row));
  const std::size_t q_width = std::size_t{instruction.heads} * instruction.head_dim;
  const std::size_t kv_width = std::size_t{instruction.kv_heads} * instruction.head_dim;
  if (instruction.rotation != Rotation::none) {
    const std::vector<float> table = access.load(
        Operand::table, std::uint64_t{position} * instruction.head_dim, instruction.head_dim);
    rotate_heads(instruction, table, std::span(v).first(q_width + kv_width));
  }
  const std::uint64_t place = (std::uint64_t{row} * instruction.capacity + position) * kv_width;
  const std::span<const float> all(v);
  access.store(Operand::output, row * q_width, all.first(q_width));
  access.store(Operand::keys, place, all.subspan(q_width, kv_width));
  access.store(Operand::values, place, all.subspan(q_width + kv_width));
  return {};
}

}  // namespace

Result<std::uint32_t> position_of(const RowAccess& access, std::uint32_t row) {
  const std::int32_t position = access.load_integer(Operand::positions, row);
  if (position >= 0 && static_cast<std::uint32_t>(position) < access.program().positions) {
    return static_cast<std::uint32_t>(position);
  }
  return invalid_argument(fmt::format("position {} of sequence {} is not below {}", position, row,
                                      access.program().positions));
}

void execute_norm(RowAccess& access) {
  for (std::uint32_t row = 0; row < access.instruction().rows; ++row) {
    access.store(Operand::output, std::uint64_t{row} * access.instruction().out,
                 normed_input(access, row));
  }
}

Status execute_linear(RowAccess& access) {
  const Instruction& instruction = access.instruction();
  std::vector<std::vector<float>> inputs;
  for (std::uint32_t row = 0; row < instruction.rows; ++row) {
    inputs.push_back(normed_input(access, row));
  }
  std::vector<float> bias(instruction.out);
  if (instruction.has(Operand::bias)) access.load(Operand::bias, 0, bias);
  // The weights are read once for all rows.
  std::vector<std::vector<float>> v(instruction.rows, std::vector<float>(instruction.out));
  std::vector<float> weights(instruction.in);
  for (std::uint64_t column = 0; column < instruction.out; ++column) {
    access.load(Operand::weight, column * instruction.in, weights);
    for (std::uint32_t row = 0; row < instruction.rows; ++row) {
      v[row][column] = static_cast<float>(dot_product(inputs[row], weights) + bias[column]);
    }
  }
  const std::uint64_t columns = output_columns(instruction);
  for (std::uint32_t row = 0; row < instruction.rows; ++row) {
    if (appends(instruction)) {
      MGTUNE_TRY(append_row(access, row, v[row]));
      continue;
    }
    std::vector<float> y = activated(instruction, v[row]);
    if (instruction.has(Operand::residual)) {
      const std::vector<float> residual = access.load(Operand::residual, row * columns, columns);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += residual[i];
    }
    access.store(Operand::output, row * columns, y);
  }
  return {};
}

}  // namespace mgtune::engine
