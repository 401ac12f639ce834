// FailedVariants: the variants that were wrong, crashed, did not end or could not be launched, by
// GPU and operator. Such a variant is never run on that GPU. Copyable; const methods may run
// concurrently.

#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "database/pick.h"

namespace mgtune {

// Whether a variant with this outcome is never run again on the GPU. A variant that could not be
// built is not ruled out: to try it again does no harm.
bool rules_out(Outcome outcome);

class FailedVariants {
 public:
  // Ignores an outcome that does not rule the variant out.
  void add(const GpuRecord& gpu, const std::string& op, const std::string& variant,
           Outcome outcome);
  void add(const std::vector<FailureView>& failures);

  // How the variant failed; nullopt if it did not. `variant` may have its parameters in any order.
  std::optional<Outcome> find(const GpuRecord& gpu, const std::string& op,
                              const std::string& variant) const;

  // The failures of one operator.
  FailedVariants of(const std::string& op) const;

  // The variants of the operator that failed on the GPU, sorted.
  std::vector<std::string> of(const GpuRecord& gpu, const std::string& op) const;

 private:
  using Variants = std::map<std::pair<std::string, std::string>, Outcome>;  // operator, variant
  std::vector<std::pair<GpuRecord, Variants>> gpus_;
};

}  // namespace mgtune
