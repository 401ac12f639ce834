#include "selection/failed_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "family/problem.h"

namespace mgtune {
namespace {

// The design, and its parameters in the order of their names. A stored text may have the parameters
// in any order, since parse_variant() accepts each order.
std::string with_sorted_parameters(std::string_view variant) {
  std::string whole(variant);
  variant.remove_prefix(std::min(variant.find_first_not_of(' '), variant.size()));
  const std::string_view design = variant.substr(0, variant.find(' '));
  const auto parameters = parse_assignments(variant.substr(design.size()));
  if (!parameters.ok()) return whole;
  std::string text(design);
  for (const auto& [name, value] : *parameters) text += fmt::format(" {}={}", name, value);
  return text;
}

}  // namespace

bool rules_out(Outcome outcome) {
  return outcome == Outcome::wrong || outcome == Outcome::crashed || outcome == Outcome::timeout ||
         outcome == Outcome::launch_failed;
}

void FailedVariants::add(const GpuRecord& gpu, const std::string& op, const std::string& variant,
                         Outcome outcome) {
  if (!rules_out(outcome)) return;
  auto known =
      std::ranges::find_if(gpus_, [&](const auto& entry) { return is_same_gpu(entry.first, gpu); });
  if (known == gpus_.end()) known = gpus_.insert(gpus_.end(), {gpu, {}});
  known->second.emplace(std::pair(op, with_sorted_parameters(variant)), outcome);
}

void FailedVariants::add(const std::vector<FailureView>& failures) {
  for (const FailureView& row : failures) add(row.gpu, row.op, row.variant, row.outcome);
}

std::optional<Outcome> FailedVariants::find(const GpuRecord& gpu, const std::string& op,
                                            const std::string& variant) const {
  if (gpus_.empty()) return std::nullopt;
  const std::pair key(op, with_sorted_parameters(variant));
  for (const auto& [of_gpu, variants] : gpus_) {
    if (!is_same_gpu(of_gpu, gpu)) continue;
    const auto found = variants.find(key);
    if (found != variants.end()) return found->second;
  }
  return std::nullopt;
}

FailedVariants FailedVariants::of(const std::string& op) const {
  FailedVariants found;
  for (const auto& [gpu, variants] : gpus_) {
    Variants of_op;
    for (auto at = variants.lower_bound({op, ""}); at != variants.end() && at->first.first == op;
         ++at) {
      of_op.emplace_hint(of_op.end(), *at);
    }
    if (!of_op.empty()) found.gpus_.emplace_back(gpu, std::move(of_op));
  }
  return found;
}

std::vector<std::string> FailedVariants::of(const GpuRecord& gpu, const std::string& op) const {
  std::vector<std::string> texts;
  for (const auto& [of_gpu, variants] : gpus_) {
    if (!is_same_gpu(of_gpu, gpu)) continue;
    for (const auto& [key, outcome] : variants) {
      if (key.first == op) texts.push_back(key.second);
    }
  }
  std::ranges::sort(texts);
  return texts;
}

}  // namespace mgtune
