// The default ladders of several problems of an operator as one list, for tests of all rungs that
// the problems can have; and what a launch of a variant is like. Pure.

#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "family/problem.h"
#include "family/variant.h"
#include "selection/admission.h"

namespace mgtune {

// Each variant once, in the order of the first ladder that has it.
inline std::vector<Variant> ladders_of(const std::vector<Problem>& problems,
                                       const DeviceLimits& device) {
  std::vector<Variant> rungs;
  for (const Problem& problem : problems) {
    for (const Variant& rung : default_ladder(problem.binding(), device)) {
      if (std::ranges::find(rungs, rung) == rungs.end()) rungs.push_back(rung);
    }
  }
  return rungs;
}

// Whether a launch of the variant sets up the next grid early: whether the problem admits it, and
// what its first launch's `pdl` says. As many clusters of two as fit are resident at once.
inline bool begins_early(const Problem& problem, const std::string& text,
                         const DeviceLimits& device) {
  const Variant variant = parse_variant(*problem.op, text).value();
  std::optional<Slots> slots = serving_slots(problem, variant, device);
  if (!slots) return false;
  (*slots)[kSlotBuildMaxClusters] = device.sm_count / 2;
  const Design& design = problem.op->designs[std::size_t(variant.design)];
  if (!evaluate_lets(design, Stage::launch, *slots).ok()) return false;
  return design.launches.front().pdl.evaluate(*slots).value() != 0;
}

}  // namespace mgtune
