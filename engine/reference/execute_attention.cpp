#include "reference/execute_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mgtune::engine {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

struct KeyRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// The attention of one head over some keys, and the logarithm of its sum of exponentials.
struct HeadResult {
  std::vector<float> output;
  float statistic = -std::numeric_limits<float>::infinity();
};

Result<KeyRange> visible_keys(const RowAccess& access, std::uint32_t row) {
  const std::int32_t length = access.load_integer(Operand::lengths, row);
  if (length < 1 || static_cast<std::uint32_t>(length) > access.program().positions) {
    return invalid_argument(fmt::format("sequence {} has {} keys, but the program serves 1 to {}",
                                        row, length, access.program().positions));
  }
  const auto end = static_cast<std::uint64_t>(length);
  const std::uint64_t window = access.instruction().window;
  return KeyRange{window == 0 || window >= end ? 0 : end - window, end};
}

HeadResult attend(const RowAccess& access, std::uint32_t row, std::uint32_t head,
                  const KeyRange& keys) {
  const Instruction& instruction = access.instruction();
  const std::uint64_t head_dim = instruction.head_dim;
  const std::vector<float> query = access.load(
      Operand::input, (std::uint64_t{row} * instruction.heads + head) * head_dim, head_dim);
  const std::uint64_t kv_head = head / (instruction.heads / instruction.kv_heads);
  const auto place = [&](std::uint64_t key) {
    return ((std::uint64_t{row} * instruction.capacity + key) * instruction.kv_heads + kv_head) *
           head_dim;
  };
  std::vector<double> logits;
  std::vector<float> vector(head_dim);
  double largest = kMinusInfinity;
  for (std::uint64_t key = keys.begin; key < keys.end; ++key) {
    access.load(Operand::keys, place(key), vector);
    double logit = 0;
    for (std::uint64_t i = 0; i < head_dim; ++i) logit += double{query[i]} * vector[i];
    logits.push_back(logit * instruction.scale);
    largest = std::max(largest, logits.back());
  }
  HeadResult result;
  std::vector<double> sums(head_dim);
  double total = 0;
  for (std::uint64_t key = keys.begin; key < keys.end; ++key) {
    const double weight = std::exp(logits[key - keys.begin] - largest);
    access.load(Operand::values, place(key), vector);
    for (std::uint64_t i = 0; i < head_dim; ++i) sums[i] += weight * vector[i];
    total += weight;
  }
  result.output.resize(head_dim);
  if (logits.empty()) return result;
  for (std::uint64_t i = 0; i < head_dim; ++i) {
    result.output[i] = static_cast<float>(sums[i] / total);
  }
  result.statistic = static_cast<float>(largest + std::log(total));
  return result;
}

}  // namespace

Status execute_attention(RowAccess& access) {
  const Instruction& instruction = access.instruction();
  const bool is_split = instruction.opcode == Opcode::attention_partial;
  const std::uint64_t splits = is_split ? instruction.splits : 1;
  for (std::uint32_t row = 0; row < instruction.rows; ++row) {
    MGTUNE_ASSIGN(const KeyRange all, visible_keys(access, row));
    const std::uint64_t part_keys = (all.end - all.begin + splits - 1) / splits;
    for (std::uint32_t head = 0; head < instruction.heads; ++head) {
      for (std::uint64_t split = 0; split < splits; ++split) {
        KeyRange part;
        part.begin = std::min(all.begin + split * part_keys, all.end);
        part.end = std::min(part.begin + part_keys, all.end);
        const HeadResult result = attend(access, row, head, part);
        const std::uint64_t index =
            (std::uint64_t{row} * instruction.heads + head) * splits + split;
        access.store(Operand::output, index * instruction.head_dim, result.output);
        if (is_split) access.store(Operand::statistics, index, std::span(&result.statistic, 1));
      }
    }
  }
  return {};
}

void execute_attention_reduce(RowAccess& access) {
  const Instruction& instruction = access.instruction();
  const std::uint64_t head_dim = instruction.head_dim;
  const std::uint64_t splits = instruction.splits;
  const std::uint64_t heads = std::uint64_t{instruction.rows} * instruction.heads;
  for (std::uint64_t head = 0; head < heads; ++head) {
    const std::vector<float> statistics = access.load(Operand::statistics, head * splits, splits);
    const double largest = *std::ranges::max_element(statistics);
    std::vector<double> sums(head_dim);
    double total = 0;
    for (std::uint64_t split = 0; split < splits; ++split) {
      const double weight = std::exp(statistics[split] - largest);
      const std::vector<float> part =
          access.load(Operand::input, (head * splits + split) * head_dim, head_dim);
      for (std::uint64_t i = 0; i < head_dim; ++i) sums[i] += weight * part[i];
      total += weight;
    }
    std::vector<float> output(head_dim);
    for (std::uint64_t i = 0; i < head_dim; ++i) output[i] = static_cast<float>(sums[i] / total);
    access.store(Operand::output, head * head_dim, output);
  }
}

}  // namespace mgtune::engine
