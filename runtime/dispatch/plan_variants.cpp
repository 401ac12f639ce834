#include "dispatch/plan_variants.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "dispatch/admission.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxTuned = 5;    // variants; the rest of kMaxPlanVariants is the ladder's
constexpr std::size_t kMaxPoints = 32;  // of the ranges that are looked at

std::int64_t geometric_middle(const DimRange& range) {
  const double low = static_cast<double>(std::max<std::int64_t>(range.low, 1));
  const auto middle = static_cast<std::int64_t>(
      std::sqrt(low) * std::sqrt(static_cast<double>(std::max<std::int64_t>(range.high, 1))));
  return std::clamp(middle, range.low, range.high);
}

struct Wanted {
  Variant variant;
  bool is_default;  // wanted as the ladder's, whatever the tuned rows say
};

class PlanLoader {
 public:
  explicit PlanLoader(const PlanRequest& request)
      : request_(request),
        op_(*request.binding.op),
        info_(request.device.info()),
        tuned_distances_(tuned_distances(request.binding, info_, request.tuned)) {}

  Result<PlanVariants> load() {
    MGTUNE_TRY(find_points());
    std::vector<Wanted> wanted;
    for (bool complete = false; !complete;) {
      wanted = choose();
      complete =
          std::all_of(wanted.begin(), wanted.end(), [&](const Wanted& one) { return obtain(one); });
    }
    if (wanted.empty()) return nothing_serves();
    PlanVariants result;
    for (const Wanted& one : wanted)
      result.variants.push_back(std::move(loaded_[text(one.variant)]));
    add_rows(result);
    for (auto& [variant, failure] : failed_)
      result.left_out.push_back(variant + ": " + failure.message());
    return result;
  }

 private:
  std::string text(const Variant& variant) const { return variant_text(op_, variant); }
  bool has_failed(const Variant& variant) const { return failed_.contains(text(variant)); }

  template <typename ValueOfRange>
  Status add_point(const ValueOfRange& value) {
    std::map<std::string, std::int64_t> dims;
    std::size_t index = 0;
    for (const Dim& dim : op_.dims) {
      if (dim.kind == DimKind::fixed) continue;
      const DimRange& range = request_.ranges[index++];
      if (range.low <= range.high) dims[dim.name] = value(range, std::size_t(dim.slot));
    }
    MGTUNE_ASSIGN(Problem point, complete(request_.binding, dims));
    const bool known = std::any_of(points_.begin(), points_.end(), [&](const Problem& other) {
      return other.slots == point.slots;
    });
    if (!known && points_.size() < kMaxPoints) points_.push_back(std::move(point));
    return {};
  }

  // A point that breaks a constraint of the operator is no problem anybody can ask for.
  Status find_points() {
    Status first;
    const auto keep_first = [&](Status status) {
      if (first.ok()) first = std::move(status);
    };
    keep_first(add_point([](const DimRange& range, std::size_t) { return range.high; }));
    keep_first(add_point([](const DimRange& range, std::size_t) { return range.low; }));
    keep_first(add_point([](const DimRange& r, std::size_t) { return geometric_middle(r); }));
    for (const TunedDistance& tuned_distance : tuned_distances_) {
      keep_first(add_point([&](const DimRange& range, std::size_t slot) {
        return std::clamp(tuned_distance.entry->problem.slots[slot], range.low, range.high);
      }));
    }
    return points_.empty() ? first : Status();
  }

  // The same point with every dim that has a default, such as a stride, one larger than it.
  Problem with_odd_strides(Problem point) const {
    for (const Dim& dim : op_.dims) {
      if (dim.kind == DimKind::dynamic && dim.fallback) ++point.slots[std::size_t(dim.slot)];
    }
    return point;
  }

  std::vector<Wanted> choose() const {
    std::vector<std::pair<Variant, int>> wins;  // tuned variants and how many points they win
    std::vector<Wanted> ladder;
    const std::vector<Variant> defaults = default_ladder(op_);
    const auto want_default = [&](const Problem& point, bool any_pointer) {
      for (const Variant& variant : defaults) {
        if (has_failed(variant) || !may_serve(point, variant, info_.limits)) continue;
        if (any_pointer && !accepts_any_pointer(point, variant, info_.limits)) continue;
        add(ladder, {variant, true});
        return;
      }
    };
    for (const Problem& point : points_) {
      count_win(point, wins);
      want_default(point, false);
      want_default(point, true);
      want_default(with_odd_strides(point), true);
    }
    std::stable_sort(wins.begin(), wins.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<Wanted> wanted;
    for (const auto& [variant, points] : wins) {
      if (wanted.size() < kMaxTuned) wanted.push_back({variant, false});
    }
    for (Wanted& one : ladder) {
      if (wanted.size() < kMaxPlanVariants) add(wanted, std::move(one));
    }
    return wanted;
  }

  static void add(std::vector<Wanted>& to, Wanted wanted) {
    for (Wanted& known : to) {
      if (known.variant != wanted.variant) continue;
      known.is_default = known.is_default || wanted.is_default;
      return;
    }
    to.push_back(std::move(wanted));
  }

  void count_win(const Problem& point, std::vector<std::pair<Variant, int>>& wins) const {
    for (const SelectedVariant& candidate : select_variants(point, info_, request_.tuned)) {
      if (candidate.step == SelectionStep::default_ladder) return;
      if (has_failed(candidate.variant)) continue;
      const auto known = std::find_if(wins.begin(), wins.end(), [&](const auto& win) {
        return win.first == candidate.variant;
      });
      if (known == wins.end()) {
        wins.emplace_back(candidate.variant, 1);
      } else {
        ++known->second;
      }
      return;
    }
  }

  // Builds and loads the variant unless that is done; false when it failed, which is recorded.
  bool obtain(const Wanted& wanted) {
    const std::string name = text(wanted.variant);
    if (loaded_.contains(name)) return true;
    Result<std::unique_ptr<LoadedVariant>> loaded = build_and_load(wanted.variant);
    if (!loaded.ok()) {
      failed_.emplace(name, std::move(loaded).take_status());
      return false;
    }
    if (request_.strict && !wanted.is_default && measured_with_other_build(**loaded)) {
      failed_.emplace(name, unsupported("its build is not the one that was measured"));
      return false;
    }
    loaded_.emplace(name, std::move(*loaded));
    return true;
  }

  Result<std::unique_ptr<LoadedVariant>> build_and_load(const Variant& variant) {
    MGTUNE_ASSIGN(const Slots slots, compile_slots(request_.binding, variant, info_.limits));
    MGTUNE_ASSIGN(const BuildRequest request,
                  variant_build_request(op_, variant, slots, info_.arch));
    MGTUNE_ASSIGN(const Build build, request_.builder.build(request));
    return LoadedVariant::load(request_.device, request_.binding, variant, build);
  }

  static bool is_other_build(const TunedDistance& tuned_distance, const LoadedVariant& variant) {
    const std::string& measured = tuned_distance.entry->build_sha256;
    return tuned_distance.same_binding && !measured.empty() && measured != variant.build_sha256();
  }

  bool measured_with_other_build(const LoadedVariant& variant) const {
    return std::any_of(tuned_distances_.begin(), tuned_distances_.end(),
                       [&](const TunedDistance& tuned_distance) {
                         return tuned_distance.entry->variant == variant.variant() &&
                                is_other_build(tuned_distance, variant);
                       });
  }

  void add_rows(PlanVariants& result) const {
    for (const TunedDistance& tuned_distance : tuned_distances_) {
      for (std::size_t i = 0; i < result.variants.size(); ++i) {
        const LoadedVariant& variant = *result.variants[i];
        if (tuned_distance.entry->variant != variant.variant()) continue;
        const bool other_build = is_other_build(tuned_distance, variant);
        if (other_build && request_.strict) continue;
        result.rows.push_back({i, tuned_distance.distance, tuned_distance.same_gpu,
                               tuned_distance.same_binding, other_build, *tuned_distance.entry});
      }
    }
  }

  Status nothing_serves() const {
    if (!failed_.empty()) {
      const auto& [variant, failure] = *failed_.begin();
      return Status(failure).with_context(op_.full_name() + ": " + variant);
    }
    return unsupported(op_.full_name() + ": no design serves " + points_.front().text() + " on " +
                       info_.name);
  }

  const PlanRequest& request_;
  const Operator& op_;
  const DeviceInfo& info_;
  std::vector<TunedDistance> tuned_distances_;
  std::vector<Problem> points_;
  std::map<std::string, std::unique_ptr<LoadedVariant>> loaded_;  // by variant text
  std::map<std::string, Status> failed_;                          // likewise
};

}  // namespace

Result<PlanVariants> load_plan_variants(const PlanRequest& request) {
  return PlanLoader(request).load();
}

}  // namespace mgtune
