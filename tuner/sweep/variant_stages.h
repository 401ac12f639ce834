// VariantStages: the variants that are between the search and their row, by what they wait for.
//
//   compiling -> ready -> measuring
//
// Variants with the same build compile together. One thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sweep/known_results.h"

namespace mgtune {

class VariantStages {
 public:
  // `default_variant`: the variant_text() of the one that is measured before all others.
  explicit VariantStages(std::string default_variant)
      : default_variant_(std::move(default_variant)) {}

  bool is_default(const VariantState& state) const { return state.variant == default_variant_; }
  bool is_default_on_its_way() const;  // compiling or being measured

  // Adds the variant to those that wait for the same build; false, with `state` untouched, if none
  // does. Then start_compiling() has the request that was made for it.
  bool join_compiling(VariantState& state);
  void start_compiling(std::int64_t request, VariantState state);
  std::vector<VariantState> end_compiling(std::int64_t request);  // empty for an unknown request
  std::vector<VariantState> stop_compiling();                     // all of them

  void add_ready(VariantState state) { ready_.push_back(std::move(state)); }
  VariantState next_ready();  // the default before the others; not to be called when none is ready

  void start_measuring(std::int64_t request, VariantState state);
  std::optional<VariantState> end_measuring(std::int64_t request);  // nullopt for an unknown one
  void stop_measuring() { measuring_.clear(); }

  bool has_compiling() const { return !compiling_.empty(); }
  bool has_ready() const { return !ready_.empty(); }
  bool has_measuring() const { return !measuring_.empty(); }
  std::size_t size() const { return compiling_count_ + ready_.size() + measuring_.size(); }

 private:
  std::string default_variant_;
  std::map<std::int64_t, std::vector<VariantState>> compiling_;  // by request
  std::size_t compiling_count_ = 0;
  std::deque<VariantState> ready_;
  std::map<std::int64_t, VariantState> measuring_;  // by request
};

}  // namespace mgtune
