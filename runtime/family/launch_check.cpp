// check_launches(): checks the parts of a launch that all variants of a design share.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "family/problem_check.h"

namespace mgtune {
namespace {

constexpr std::int64_t kAnyValue = std::numeric_limits<std::int64_t>::min();

bool reads_any(const Expression& expression, const std::vector<bool>& slots) {
  return std::ranges::any_of(expression.slots(),
                             [&](int slot) { return slots[static_cast<std::size_t>(slot)]; });
}

// The slots whose values differ between the design's variants, or come with a build.
std::vector<bool> varying_slots(const Design& design) {
  std::vector<bool> varies(design.scope.size(), false);
  varies[kSlotBuildBlocksPerSm] = varies[kSlotBuildMaxClusters] = true;
  for (const Parameter& parameter : design.params) {
    varies[static_cast<std::size_t>(parameter.slot)] = true;
  }
  for (const Let& let : design.lets) {
    varies[static_cast<std::size_t>(let.slot)] = reads_any(let.value, varies);
  }
  return varies;
}

// The slots of the first of the design's defaults that runs this problem. Its build is assumed to
// fit once on each multiprocessor.
std::optional<Slots> default_slots(const Problem& problem, const DeviceLimits& device,
                                   int design_index) {
  const Operator& op = *problem.op;
  const Design& design = op.designs[static_cast<std::size_t>(design_index)];
  for (const Default& rung : design.defaults) {
    const Variant variant{design_index, rung.values};
    Result<Slots> slots = compile_slots(problem.binding(), variant, device);
    if (!slots.ok() || !is_admissible(op, variant, *slots)) continue;
    for (const Dim& dim : op.dims) {
      const auto slot = static_cast<std::size_t>(dim.slot);
      (*slots)[slot] = problem.slots[slot];
    }
    (*slots)[kSlotBuildBlocksPerSm] = (*slots)[kSlotBuildMaxClusters] = 1;
    const bool runs =
        evaluate_lets(design, Stage::launch, *slots).ok() && serves(op, variant, *slots);
    if (runs) return *std::move(slots);
  }
  return std::nullopt;
}

class LaunchCheck {
 public:
  LaunchCheck(const Problem& problem, const Design& design, const Slots& slots)
      : problem_(problem),
        design_(design),
        slots_(slots),
        varies_(varying_slots(design)),
        path_("/designs/" + design.name) {}

  Status run() const {
    for (const Workspace& buffer : design_.workspace) {
      const std::string path = path_ + "/workspace/" + buffer.name;
      MGTUNE_ASSIGN(const bool runs, always_runs(buffer.when, path));
      if (runs) MGTUNE_TRY(check_all(buffer.shape, path + "/shape", 0));
    }
    for (std::size_t i = 0; i < design_.launches.size(); ++i) {
      MGTUNE_TRY(check_launch(design_.launches[i], fmt::format("{}/launches/{}", path_, i)));
    }
    return {};
  }

 private:
  Status check_launch(const Launch& launch, const std::string& path) const {
    MGTUNE_ASSIGN(const bool runs, always_runs(launch.when, path));
    if (!runs) return {};
    MGTUNE_TRY(check_all(launch.grid, path + "/grid", 0));
    MGTUNE_TRY(check_all(launch.block, path + "/block", 1));
    MGTUNE_TRY(check_all(launch.cluster, path + "/cluster", 1));
    MGTUNE_TRY(check(launch.shared, path + "/shared", 0));
    MGTUNE_TRY(check(launch.cooperative, path + "/cooperative", 0));
    MGTUNE_TRY(check(launch.pdl, path + "/pdl", 0));
    for (std::size_t i = 0; i < launch.args.size(); ++i) {
      if (!launch.args[i].value) continue;
      MGTUNE_TRY(check(*launch.args[i].value, fmt::format("{}/args/{}", path, i), kAnyValue));
    }
    for (const TensorMap& map : launch.tensor_maps) {
      const std::string place = path + "/tensor_maps/" + map.name;
      MGTUNE_TRY(check_all(map.extent, place + "/extent", 0));
      MGTUNE_TRY(check_all(map.stride, place + "/stride", 0));
      MGTUNE_TRY(check_all(map.box, place + "/box", 0));
    }
    return {};
  }

  // Whether a part with this `when` is present in all variants.
  Result<bool> always_runs(const std::optional<Expression>& when, const std::string& path) const {
    if (!when) return true;
    if (reads_any(*when, varies_)) return false;
    MGTUNE_ASSIGN(const std::int64_t value,
                  checked_value(problem_, *when, slots_, path + "/when", 0));
    return value != 0;
  }

  Status check_all(const std::vector<Expression>& expressions, const std::string& path,
                   std::int64_t least) const {
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      MGTUNE_TRY(check(expressions[i], fmt::format("{}/{}", path, i), least));
    }
    return {};
  }

  Status check(const Expression& expression, const std::string& path, std::int64_t least) const {
    if (reads_any(expression, varies_)) return {};
    return checked_value(problem_, expression, slots_, path, least).status();
  }

  const Problem& problem_;
  const Design& design_;
  const Slots& slots_;
  std::vector<bool> varies_;
  std::string path_;
};

}  // namespace

Status check_launches(const Problem& problem, const DeviceLimits& device) {
  const std::vector<Design>& designs = problem.op->designs;
  for (std::size_t i = 0; i < designs.size(); ++i) {
    const std::optional<Slots> slots = default_slots(problem, device, static_cast<int>(i));
    if (slots) MGTUNE_TRY(LaunchCheck(problem, designs[i], *slots).run());
  }
  return {};
}

}  // namespace mgtune
