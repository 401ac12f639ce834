// Selector: select_variants() for many problems of one binding. Work that is the same for all of
// them is done once. Const methods may run concurrently. The arguments of the constructor must
// outlive it.

#pragma once

#include <optional>
#include <span>
#include <vector>

#include "selection/evidence.h"
#include "selection/slowdown_model.h"
#include "selection/variant_selection.h"

namespace mgtune {

class Selector {
 public:
  // For problems with the binding of `near`. Problems near to it are ranked best.
  Selector(const Problem& near, const DeviceInfo& device, const Evidence& evidence);

  std::vector<SelectedVariant> rank(const Problem& problem) const;

  // Whether it ranks by measurements of this or the nearest GPU, not only by picks.
  bool has_model() const { return model_.has_value(); }

  // From now on the measurements rank only the best few variants of each of these problems, because
  // an estimate takes about 0.1 ms per variant.
  void focus_on(std::span<const Problem> problems);

  bool has_failed(const Variant& variant) const;  // on this GPU

 private:
  // The measurements of the problem on this GPU; null if there are none.
  const MeasuredProblem* measured_at(const Problem& problem) const;
  std::vector<SelectedVariant> by_measurements(const Problem& problem) const;
  std::vector<SelectedVariant> by_estimate(const Problem& problem) const;
  std::optional<Variant> default_at(const Problem& problem) const;  // the choice of the ladder
  double distance_to_measured(const Problem& problem) const;        // binding and dims
  std::vector<SelectedVariant> by_picks(const Problem& problem) const;
  void learn(const Problem& near);
  bool has_other_driver(const Variant& variant) const;

  const DeviceInfo& device_;
  const Evidence& evidence_;
  GpuRecord here_, source_;  // the GPU whose measurements are learned from
  Binding binding_;
  std::vector<Variant> ladder_;  // of the binding on the device
  std::vector<Variant> failed_;
  std::vector<TunedDistance> picks_;
  std::vector<MeasuredProblem> measured_;  // on source_
  std::vector<Variant> candidates_;  // for the model: variants that passed their checks on source_
  std::vector<Variant> by_other_driver_;  // all of their measurements
  std::optional<SlowdownModel> model_;
};

}  // namespace mgtune
