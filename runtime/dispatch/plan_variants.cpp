#include "dispatch/plan_variants.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "dispatch/plan_points.h"
#include "selection/admission.h"
#include "selection/default_variants.h"
#include "selection/near_ranges.h"
#include "selection/pick_key.h"
#include "selection/variant_selection.h"

namespace mgtune {
namespace {

// The most variants of each kind among kMaxPlanVariants. The rest is for the ladder.
constexpr std::size_t kMaxTuned = 4, kMaxOfRules = 4;

constexpr const char* kOtherBuild = ", with another build of the same variant";

// What another set of optional tensors adds to the distance of a tuned problem.
constexpr double kOtherPresence = 0.5;

struct Wanted {
  Variant variant;
  bool is_default;  // wanted because it is in the ladder, whatever the evidence says
};

class PlanLoader {
 public:
  explicit PlanLoader(const PlanRequest& request)
      : request_(request),
        op_(*request.binding.op),
        info_(request.modules.device().info()),
        here_(gpu_record(info_)) {}

  Result<PlanVariants> load() {
    find_picks();
    find_rules();
    MGTUNE_ASSIGN(points_, plan_points(request_.binding, request_.ranges, picks_));
    sample_ = sample_of_ranges(request_.binding, request_.ranges);
    std::vector<Wanted> wanted;
    for (bool complete = false; !complete;) {
      wanted = choose();
      complete = std::all_of(wanted.begin(), wanted.end(),
                             [&](const Wanted& one) { return obtain(one); }) &&
                 !find_refusals();
    }
    if (wanted.empty()) return nothing_serves();
    PlanVariants result;
    for (const Wanted& one : wanted)
      result.variants.push_back(std::move(loaded_[text(one.variant)]));
    add_rows(result);
    rank_leaves(result);
    for (const auto& variant : result.variants) {
      const auto found = std::ranges::find(ladder_, variant->variant()) - ladder_.begin();
      const auto place = static_cast<std::size_t>(found);
      // All others come after the ladder, in the order in which they were chosen.
      const std::size_t past = ladder_.size() + result.ladder.size();
      const bool is_rung = place < ladder_.size();
      result.ladder.push_back(is_rung ? LadderPlace{place, groups_[place]}
                                      : LadderPlace{past, past});
    }
    for (auto& [variant, failure] : failed_)
      result.left_out.push_back(variant + ": " + failure.message());
    return result;
  }

 private:
  std::string text(const Variant& variant) const { return variant_text(op_, variant); }
  // Whether the variant did not fail here: not while it was built and loaded, and not in a
  // measurement.
  bool is_usable(const Variant& variant) const {
    const std::string name = text(variant);
    return !failed_.contains(name) &&
           !request_.evidence.failed.find(here_, op_.full_name(), name).has_value();
  }

  // Finds the picks that are near a shape in the ranges, at most kMaxPicks. Those nearest to the
  // middle of the ranges come first.
  void find_picks() {
    const NearRanges ranges(op_, request_.ranges);
    const std::vector<const TunedEntry*> usable =
        request_.evidence.usable_picks(request_.binding, here_);
    std::vector<std::pair<double, std::size_t>> near;  // with the place in `usable`
    for (std::size_t place = 0; place < usable.size(); ++place) {
      const Slots& slots = usable[place]->problem.slots;
      if (!ranges.contains(slots)) continue;
      const double other = same_presence(op_, request_.binding.slots, slots) ? 0 : kOtherPresence;
      near.emplace_back(ranges.from_middle(slots) + other, place);
    }
    // If picks are equally near, the earlier one comes first. The order of the picks that are not
    // kept does not matter.
    const std::size_t kept = std::min(near.size(), kMaxPicks);
    std::ranges::partial_sort(near, near.begin() + static_cast<std::ptrdiff_t>(kept));
    for (std::size_t i = 0; i < kept; ++i) picks_.push_back(usable[near[i].second]);
  }

  void find_rules() {
    const std::shared_ptr<const Rules> rules =
        rules_for(request_.binding, info_, request_.evidence);
    if (rules == nullptr) return;
    auto here = std::make_unique<PlanRules>(rules, request_.binding, request_.ranges, info_);
    if (here->leaves().empty() || (request_.strict && !here->is_of_this_gpu())) return;
    rules_ = std::move(here);
    for (const VariantPattern& pattern : rules->variants) {
      of_rules_.push_back(variant_of(pattern, request_.binding, info_.limits));
    }
  }

  std::vector<Wanted> choose() {
    if (request_.only) {
      if (!is_usable(*request_.only) || !may_run(*request_.only)) return {};
      return {{*request_.only, true}};
    }
    std::vector<Wanted> ladder;
    for (std::size_t point = 0; point < points_.size(); ++point) {
      for (const Variant& variant : of_ladder(point)) add(ladder, {variant, true});
    }
    std::vector<Wanted> wanted;
    for (Variant& variant : of_picks()) add(wanted, {std::move(variant), false});
    for (Variant& variant : of_rules()) add(wanted, {std::move(variant), false});
    for (Wanted& one : ladder) {
      const bool is_known =
          std::ranges::find(wanted, one.variant, &Wanted::variant) != wanted.end();
      if (is_known || wanted.size() < kMaxPlanVariants) add(wanted, std::move(one));
    }
    close_gaps(wanted);
    return wanted;
  }

  // The variants of the points may all refuse between them. For each problem of the sample that
  // they refuse, wants one more variant of the ladder: of those that serve the problem, the one
  // that serves most of the sample. If several do, it is the one that comes first at that problem.
  void close_gaps(std::vector<Wanted>& wanted) const {
    std::vector<Candidate> chosen;
    chosen.reserve(wanted.size());
    for (const Wanted& one : wanted) chosen.push_back(candidate(one.variant));
    for (const Problem& problem : sample_) {
      const bool is_served = std::ranges::any_of(
          chosen, [&](const Candidate& one) { return is_expected_to_serve(one, problem); });
      if (is_served) continue;
      const std::optional<Variant> best = widest_at(problem);
      if (!best) continue;
      const bool is_full = wanted.size() == kMaxPlanVariants;
      if (is_full) wanted.pop_back();  // which is of the ladder
      wanted.push_back({*best, true});
      if (is_full) return;
      chosen.push_back(candidate(*best));
    }
  }

  // The variant of the ladder that serves the problem and most of the sample; nullopt: none does.
  std::optional<Variant> widest_at(const Problem& problem) const {
    std::optional<Variant> widest;
    std::ptrdiff_t most = 0;
    for (const auto& [variant, estimate] : ladder_at(problem, ladder_, info_.limits)) {
      const Candidate one = candidate(variant);
      if (!is_usable(variant) || !is_expected_to_serve(one, problem)) continue;
      const std::ptrdiff_t served = std::ranges::count_if(
          sample_, [&](const Problem& other) { return is_expected_to_serve(one, other); });
      if (served <= most) continue;
      widest = variant;
      most = served;
    }
    return widest;
  }

  struct Candidate {
    Variant variant;
    const LoadedVariant* loaded;  // null: not yet
  };
  Candidate candidate(const Variant& variant) const {
    const auto loaded = loaded_.find(text(variant));
    return {variant, loaded == loaded_.end() ? nullptr : loaded->second.get()};
  }
  bool is_expected_to_serve(const Candidate& candidate, const Problem& problem) const {
    return candidate.loaded != nullptr ? serves(*candidate.loaded, problem)
                                       : may_serve(problem, candidate.variant, info_.limits);
  }

  // The variants that the point wants from the ladder. If only refusals are left, they are wanted:
  // a launch then says why they refuse.
  const std::vector<Variant>& of_ladder(std::size_t point) {
    if (const auto known = of_points_.find(point); known != of_points_.end()) return known->second;
    if (usable_.empty()) {
      std::ranges::copy_if(ladder_, std::back_inserter(usable_),
                           [this](const Variant& variant) { return is_usable(variant); });
    }
    std::vector<Variant> rest;
    std::ranges::copy_if(usable_, std::back_inserter(rest), [&](const Variant& variant) {
      return refusals_.empty() || !refusals_.contains({point, text(variant)});
    });
    std::vector<Variant> wanted = default_variants(points_[point], rest, info_.limits);
    if (wanted.empty()) wanted = default_variants(points_[point], usable_, info_.limits);
    return of_points_.emplace(point, std::move(wanted)).first->second;
  }

  // Finds out whether the loaded variants serve the points that want them from the ladder. Before a
  // variant was loaded, constraints that read build.* counted as true. If one of them is false,
  // the point gets the next variant of the ladder. False: nothing new was found.
  bool find_refusals() {
    if (request_.only) return false;
    bool found = false;
    for (std::size_t point = 0; point < points_.size(); ++point) {
      for (const Variant& variant : of_ladder(point)) {
        const auto loaded = loaded_.find(text(variant));
        if (loaded == loaded_.end() || !may_serve(points_[point], variant, info_.limits) ||
            serves(*loaded->second, points_[point])) {
          continue;
        }
        found = refusals_.emplace(point, loaded->first).second || found;
      }
    }
    if (found) of_points_.clear();
    return found;
  }

  // Whether a launch with the dims of the problem is served.
  bool serves(const LoadedVariant& variant, const Problem& problem) const {
    std::vector<std::int64_t> dims;
    for (const Dim& dim : op_.dims) {
      if (dim.kind != DimKind::fixed) dims.push_back(problem.slots[std::size_t(dim.slot)]);
    }
    LaunchArguments arguments;
    arguments.dims = dims;
    return variant.serves(arguments);
  }

  static void add(std::vector<Wanted>& to, Wanted wanted) {
    for (Wanted& known : to) {
      if (known.variant != wanted.variant) continue;
      known.is_default = known.is_default || wanted.is_default;
      return;
    }
    to.push_back(std::move(wanted));
  }

  bool may_run(const Variant& variant) const {
    return std::ranges::any_of(
        points_, [&](const Problem& point) { return may_serve(point, variant, info_.limits); });
  }

  // The variants that are picks of the most problems, at most kMaxTuned.
  std::vector<Variant> of_picks() const {
    std::vector<std::pair<Variant, std::size_t>> counted;  // the nearest first
    for (const TunedEntry* entry : picks_) {
      const auto known =
          std::ranges::find(counted, entry->variant, &std::pair<Variant, std::size_t>::first);
      if (known != counted.end()) {
        ++known->second;
      } else if (is_usable(entry->variant) && may_run(entry->variant)) {
        counted.emplace_back(entry->variant, 1);
      }
    }
    std::ranges::stable_sort(counted, std::greater(), &std::pair<Variant, std::size_t>::second);
    std::vector<Variant> chosen;
    for (auto& [variant, count] : counted) {
      if (chosen.size() < kMaxTuned) chosen.push_back(std::move(variant));
    }
    return chosen;
  }

  // The places of the leaf's variants that may run, best first. Of rules of another GPU, those that
  // count at a point to which the leaf belongs.
  std::vector<std::size_t> ranking_of(const RuleNode& leaf) const {
    if (rules_->is_of_this_gpu()) return leaf.ranking;
    std::vector<Problem> here;
    for (const Problem& point : points_) {
      if (rules_->leaves()[rules_->find(point.slots)] == &leaf) here.push_back(point);
    }
    return usable_ranking(rules_->rules(), leaf, here, info_);
  }

  // The first usable variant of each leaf that a shape in the ranges can reach; the leaves with
  // most problems first.
  std::vector<Variant> of_rules() const {
    std::vector<Variant> chosen;
    if (rules_ == nullptr) return chosen;
    std::vector<const RuleNode*> leaves = rules_->leaves();
    std::ranges::stable_sort(leaves, std::greater(),
                             [](const RuleNode* leaf) { return leaf->left_out.problems; });
    for (const RuleNode* leaf : leaves) {
      for (const std::size_t place : ranking_of(*leaf)) {
        const std::optional<Variant>& variant = of_rules_[place];
        if (!variant || !is_usable(*variant) || !may_run(*variant)) continue;
        const bool is_known = std::ranges::find(chosen, *variant) != chosen.end();
        if (!is_known && chosen.size() < kMaxOfRules) chosen.push_back(*variant);
        break;
      }
    }
    return chosen;
  }

  // Builds and loads the variant unless that was done before. Returns false if it failed, and
  // records the failure.
  bool obtain(const Wanted& wanted) {
    const std::string name = text(wanted.variant);
    if (loaded_.contains(name)) return true;
    const auto fail = [&](Status failure) {
      failed_.emplace(name, std::move(failure));
      of_points_.clear();
      usable_.clear();
      return false;
    };
    Result<std::unique_ptr<LoadedVariant>> loaded = build_and_load(wanted.variant);
    if (!loaded.ok()) return fail(std::move(loaded).take_status());
    if (request_.strict && !wanted.is_default && measured_with_other_build(**loaded)) {
      return fail(unsupported("its build is not the one that was measured"));
    }
    loaded_.emplace(name, std::move(*loaded));
    return true;
  }

  Result<std::unique_ptr<LoadedVariant>> build_and_load(const Variant& variant) {
    MGTUNE_ASSIGN(const Slots slots, compile_slots(request_.binding, variant, info_.limits));
    MGTUNE_ASSIGN(const BuildRequest request,
                  variant_build_request(op_, variant, slots, info_.arch));
    MGTUNE_ASSIGN(const Build build, request_.builder.build(request));
    return LoadedVariant::load(request_.modules, request_.binding, variant, build);
  }

  bool is_other_build(const TunedEntry& entry, const LoadedVariant& variant) const {
    return same_presence(op_, entry.problem.slots, request_.binding.slots) &&
           !entry.build_sha256.empty() && entry.build_sha256 != variant.build_sha256();
  }

  bool measured_with_other_build(const LoadedVariant& variant) const {
    return std::ranges::any_of(picks_, [&](const TunedEntry* entry) {
      return entry->variant == variant.variant() && is_other_build(*entry, variant);
    });
  }

  void add_rows(PlanVariants& result) const {
    for (const TunedEntry* entry : picks_) {
      if (result.rows.size() == DispatchTable::kMaxRows) return;
      const std::size_t place = place_of(entry->variant, result);
      if (place == result.variants.size()) continue;
      const bool other_build = is_other_build(*entry, *result.variants[place]);
      if (other_build && request_.strict) continue;
      const bool same = same_presence(op_, entry->problem.slots, request_.binding.slots);
      result.rows.push_back({place, same ? 0 : kOtherPresence, entry->problem.slots,
                             describe(*entry) + (other_build ? kOtherBuild : ""),
                             entry->median_ns});
    }
  }

  void rank_leaves(PlanVariants& result) {
    if (rules_ == nullptr) return;
    for (const RuleNode* leaf : rules_->leaves()) {
      std::vector<std::size_t>& ranked = result.ranked.emplace_back();
      for (const std::size_t variant : ranking_of(*leaf)) {
        if (!of_rules_[variant]) continue;
        const std::size_t place = place_of(*of_rules_[variant], result);
        if (place < result.variants.size()) ranked.push_back(place);
      }
    }
    result.rules = std::move(rules_);
  }

  // The index of the loaded variant; the number of loaded variants if this one is not among them.
  static std::size_t place_of(const Variant& variant, const PlanVariants& result) {
    const auto is_it = [&](const auto& loaded) { return loaded->variant() == variant; };
    return static_cast<std::size_t>(std::ranges::find_if(result.variants, is_it) -
                                    result.variants.begin());
  }

  Status nothing_serves() const {
    if (!failed_.empty()) {
      const auto& [variant, failure] = *failed_.begin();
      return Status(failure).with_context(op_.full_name() + ": " + variant);
    }
    if (request_.only) {
      return unsupported(op_.full_name() + ": " + text(*request_.only) +
                         (is_usable(*request_.only)
                              ? " does not serve " + points_.front().text() + " on "
                              : " failed before on ") +
                         info_.name);
    }
    return unsupported(op_.full_name() + ": no design serves " + points_.front().text() + " on " +
                       info_.name);
  }

  const PlanRequest& request_;
  const Operator& op_;
  const DeviceInfo& info_;
  const GpuRecord here_;
  const std::vector<Variant> ladder_ = default_ladder(request_.binding, info_.limits);
  const std::vector<std::size_t> groups_ = ladder_groups(op_, ladder_);
  std::vector<const TunedEntry*> picks_;
  std::unique_ptr<const PlanRules> rules_;
  std::vector<std::optional<Variant>> of_rules_;  // what the patterns of the rules are here
  std::vector<Problem> points_;                   // at which variants are chosen
  std::vector<Problem> sample_;                   // which shows gaps between them
  std::map<std::string, std::unique_ptr<LoadedVariant>> loaded_;  // by variant text
  std::map<std::string, Status> failed_;                          // likewise
  std::vector<Variant> usable_;                            // of the ladder, until something fails
  std::map<std::size_t, std::vector<Variant>> of_points_;  // of_ladder(), likewise
  // The points, and the variants of the ladder that turned out not to serve them.
  std::set<std::pair<std::size_t, std::string>> refusals_;
};

}  // namespace

Result<PlanVariants> load_plan_variants(const PlanRequest& request) {
  return PlanLoader(request).load();
}

}  // namespace mgtune
