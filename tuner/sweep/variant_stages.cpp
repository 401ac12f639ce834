#include "sweep/variant_stages.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mgtune {

bool VariantStages::is_default_on_its_way() const {
  const auto is_it = [this](const VariantState& state) { return is_default(state); };
  return std::ranges::any_of(compiling_,
                             [&](const auto& of_request) {
                               return std::ranges::any_of(of_request.second, is_it);
                             }) ||
         std::ranges::any_of(measuring_,
                             [&](const auto& of_request) { return is_it(of_request.second); });
}

bool VariantStages::join_compiling(VariantState& state) {
  for (auto& [request, states] : compiling_) {
    if (states.front().build.key != state.build.key) continue;
    states.push_back(std::move(state));
    ++compiling_count_;
    return true;
  }
  return false;
}

void VariantStages::start_compiling(std::int64_t request, VariantState state) {
  compiling_[request].push_back(std::move(state));
  ++compiling_count_;
}

std::vector<VariantState> VariantStages::end_compiling(std::int64_t request) {
  auto found = compiling_.extract(request);
  if (found.empty()) return {};
  compiling_count_ -= found.mapped().size();
  return std::move(found.mapped());
}

std::vector<VariantState> VariantStages::stop_compiling() {
  std::vector<VariantState> all;
  for (auto& [request, states] : std::exchange(compiling_, {})) {
    std::ranges::move(states, std::back_inserter(all));
  }
  compiling_count_ = 0;
  return all;
}

VariantState VariantStages::next_ready() {
  auto next =
      std::ranges::find_if(ready_, [this](const VariantState& state) { return is_default(state); });
  if (next == ready_.end()) next = ready_.begin();
  VariantState state = std::move(*next);
  ready_.erase(next);
  return state;
}

void VariantStages::start_measuring(std::int64_t request, VariantState state) {
  measuring_.emplace(request, std::move(state));
}

std::optional<VariantState> VariantStages::end_measuring(std::int64_t request) {
  auto found = measuring_.extract(request);
  return found.empty() ? std::nullopt : std::optional(std::move(found.mapped()));
}

}  // namespace mgtune
