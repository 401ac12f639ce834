#include "sweep/variant_stages.h"

#include <algorithm>
#include <utility>

namespace mgtune {

bool VariantStages::is_default_on_its_way() const {
  const auto is_it = [this](const VariantState& state) { return is_default(state); };
  return std::ranges::any_of(
             compiling,
             [&](const auto& request) { return std::ranges::any_of(request.second, is_it); }) ||
         std::ranges::any_of(measuring, [&](const auto& job) { return is_it(job.second); });
}

std::size_t VariantStages::size() const {
  std::size_t size = ready.size() + measuring.size();
  for (const auto& [request, states] : compiling) size += states.size();
  return size;
}

bool VariantStages::join_compiling(VariantState& state) {
  for (auto& [request, states] : compiling) {
    if (states.front().build.key != state.build.key) continue;
    states.push_back(std::move(state));
    return true;
  }
  return false;
}

VariantState VariantStages::next_ready() {
  auto next = std::ranges::find(ready, default_variant, &VariantState::variant);
  if (next == ready.end()) next = ready.begin();
  VariantState state = std::move(*next);
  ready.erase(next);
  return state;
}

}  // namespace mgtune
