// ProblemFeatures: the quantities that the conditions of rules compare, for example the bytes of a
// problem, alone or relative to a property of the GPU. Immutable; any number of threads may read
// one.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/problem.h"
#include "selection/rules.h"
#include "store/records.h"

namespace mgtune {

class ProblemFeatures {
 public:
  // The features of these problems on this GPU. A feature that is equal at all problems is left
  // out.
  ProblemFeatures(const Operator& op, std::span<const Problem> problems, const GpuRecord& gpu);

  std::size_t count() const { return features_.size(); }
  // The values of a feature at the problems. Features that probably hold on other GPUs too come
  // first.
  const std::vector<double>& values(std::size_t feature) const { return features_[feature].values; }

  // A condition that is true for values up to `low` and false for those from `high` on: "bytes <= 2
  // * device.l2_bytes". The threshold is the roundest number between `low` and `high`.
  std::string condition(std::size_t feature, double low, double high) const;

  // Whether the condition, as rules evaluate it, is true at each problem.
  std::vector<bool> evaluate(const std::string& condition) const;

 private:
  struct Feature {
    std::string left, unit;  // the feature is left / unit; an empty unit is 1
    bool is_boolean = false;
    std::vector<double> values;
  };
  void add(std::string left, std::string unit, bool is_boolean = false);

  RuleNames names_;
  std::vector<Slots> slots_;  // of the problems
  std::vector<Feature> features_;
};

}  // namespace mgtune
