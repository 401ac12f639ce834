// RecordedSpace: a space that mgtune or another tuner measured completely. It has parameters with
// their values, and configurations with a time or a failure. As a VariantSet it has one design
// whose admissible variants are the configurations. The values of a Variant are indices into the
// parameters' lists of values. Immutable: const methods may run concurrently.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "space/variant_set.h"

namespace mgtune {

// The value of a parameter in a recording. Numbers and booleans have an order, words do not.
struct RecordedValue {
  std::optional<double> number;
  std::string text;

  bool operator==(const RecordedValue&) const = default;
};

struct RecordedParameter {
  std::string name;
  std::vector<RecordedValue> values;  // ascending; words come last, in alphabetical order
};

struct RecordedConfiguration {
  std::vector<RecordedValue> values;  // one per parameter
  double time = 0;                    // in the recording's unit; 0 if it failed
};

class RecordedSpace final : public VariantSet {
 public:
  // corrupt if there is no configuration, if none succeeded, if one occurs twice, or if a time is
  // impossible. Configurations are sorted, so that the order in a file does not matter.
  static Result<RecordedSpace> make(std::vector<std::string> parameters,
                                    const std::vector<RecordedConfiguration>& configurations);

  const std::vector<RecordedParameter>& parameters() const { return parameters_; }
  const std::vector<double>& times() const { return times_; }  // by index; 0: it failed
  double time(const Variant& variant) const { return times_[index(variant)]; }

  // The configuration of this space with the values of a configuration of another one; nullopt if
  // it was not recorded. invalid_argument if the spaces have different parameters.
  Result<std::optional<Variant>> counterpart(const RecordedSpace& other,
                                             const Variant& variant) const;

  std::size_t design_count() const override { return 1; }
  std::vector<ParameterAxis> axes(std::size_t design) const override;
  std::uint64_t first_point(std::size_t design) const override;
  Variant point(std::uint64_t index) const override;
  std::uint64_t index(const Variant& variant) const override;
  bool admits(const Variant& variant) const override;
  bool for_each_of(std::size_t design, const Visit& visit, WalkLimit& limit) const override;
  std::vector<Variant> ladder() const override { return {}; }

 private:
  RecordedSpace() = default;

  std::vector<RecordedParameter> parameters_;
  std::vector<std::vector<std::int64_t>> places_;  // of each configuration's values, ascending
  std::vector<double> times_;
};

}  // namespace mgtune
