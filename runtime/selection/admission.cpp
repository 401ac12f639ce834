#include "selection/admission.h"

#include <algorithm>
#include <optional>

namespace mgtune {
namespace {

// The variant's slots with the problem's dims. Without a build, build.* is 1.
std::optional<Slots> provisional_slots(const Problem& problem, const Variant& variant,
                                       const DeviceLimits& device) {
  Result<Slots> slots = compile_slots(problem.binding(), variant, device);
  if (!slots.ok() || !is_admissible(*problem.op, variant, *slots)) return std::nullopt;
  for (const Dim& dim : problem.op->dims) {
    (*slots)[std::size_t(dim.slot)] = problem.slots[std::size_t(dim.slot)];
  }
  (*slots)[kSlotBuildBlocksPerSm] = 1;
  (*slots)[kSlotBuildMaxClusters] = 1;
  return std::move(slots).value();
}

}  // namespace

bool may_serve(const Problem& problem, const Variant& variant, const DeviceLimits& device) {
  return serving_slots(problem, variant, device).has_value();
}

std::optional<Slots> serving_slots(const Problem& problem, const Variant& variant,
                                   const DeviceLimits& device) {
  std::optional<Slots> slots = provisional_slots(problem, variant, device);
  if (!slots) return std::nullopt;
  const Design& design = problem.op->designs[std::size_t(variant.design)];
  const std::vector<bool> later = slots_that_need_build(design);
  for (const Let& let : design.lets) {
    if (let.value.stage() == Stage::compile) continue;
    const Result<std::int64_t> value = let.value.evaluate(*slots);
    if (!value.ok() && !needs_build(let.value, later)) return std::nullopt;
    (*slots)[std::size_t(let.slot)] = value.ok() ? *value : 0;
  }
  for (const Expression& constraint : design.constraints) {
    if (constraint.stage() == Stage::compile || needs_build(constraint, later)) continue;
    const Result<std::int64_t> holds = constraint.evaluate(*slots);
    if (!holds.ok() || *holds == 0) return std::nullopt;
  }
  return slots;
}

bool accepts_any_pointer(const Problem& problem, const Variant& variant,
                         const DeviceLimits& device) {
  std::optional<Slots> slots = provisional_slots(problem, variant, device);
  if (!slots) return false;
  const Design& design = problem.op->designs[std::size_t(variant.design)];
  if (!evaluate_lets(design, Stage::launch, *slots).ok()) return false;
  return std::all_of(design.alignments.begin(), design.alignments.end(),
                     [&](const Alignment& alignment) {
                       const Tensor& tensor = problem.op->tensors[std::size_t(alignment.tensor)];
                       const std::int64_t guaranteed =
                           std::max(tensor.align, size_in_bytes(tensor.dtype.resolve(*slots)));
                       const Result<std::int64_t> wanted = alignment.bytes.evaluate(*slots);
                       return wanted.ok() && *wanted > 0 && guaranteed % *wanted == 0;
                     });
}

}  // namespace mgtune
