// Adaptive, the default strategy: a Gaussian process over all parameters learns from every result
// how similar variants behave, and the variant with the largest expected improvement comes next.
// README.md gives the reason for each part, and says what did not work.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "search/candidate_pool.h"
#include "search/encoding.h"
#include "search/kernel.h"
#include "search/posterior.h"
#include "search/remaining_gain.h"
#include "search/search.h"

namespace mgtune {
namespace {

constexpr std::size_t kStart = 6;          // variants before the model is asked
constexpr std::size_t kStartChoices = 30;  // random variants; the most distant one is evaluated
constexpr std::size_t kWarm = 3;           // variants of a warm start
constexpr std::size_t kSample = 1000;      // random candidates of the model
constexpr std::size_t kElite = 8;          // the fastest variants: their neighbors are candidates
constexpr double kRefit = 1.2;  // fit the lengths again with this many times the last fit's results
constexpr double kMargin =
    0.05;  // smaller improvements (in deviations) do not count, so it explores more

// A model that has learned little is too confident. So the search believes a model that expects no
// further gain only after this many results without a gain, and only if these are at least half of
// all results.
constexpr std::size_t kInVain = 100;

// The model's chance of a gain is multiplied by this. The model's lengths and noise are only
// estimates, and the model does not know how wrong they are: on synthetic spaces with noise, when
// the model said that the chance was 0.05, a faster variant was left for every second seed. The
// factor was chosen on these spaces only.
constexpr double kOverconfidence = 10;

// The model is asked about all variants again only after this many further results, because it
// takes long.
constexpr std::size_t kRenew = 20;

// From this many observations on, a fit takes 10 ms or more, as long as some measurements.
constexpr std::size_t kLongFit = 100;

// The number of observations in the model: with a thousand, a suggestion would take 0.3 s. The
// model keeps the fastest ones and a sample of the others.
constexpr std::size_t kMaxModelled = 300, kMaxGrowth = 60;

// The probability that a normal value is less than `bound` deviations above its mean.
double probability_below(double bound) { return 0.5 * std::erfc(-bound / std::sqrt(2.0)); }

// The expected improvement over `best` of a normally distributed value.
double expected_improvement(double best, double mean, double deviation) {
  const double gain = (best - kMargin - mean) / deviation;
  const double below = probability_below(gain);
  const double density = 0.3989422804014327 * std::exp(-0.5 * gain * gain);
  return deviation * (gain * below + density);
}

double distance(const std::vector<Coordinate>& coordinates, const EncodedPoint& a,
                const EncodedPoint& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float difference = std::min((a[i] - b[i]) * (a[i] - b[i]), 1.0F);
    if (difference > 0) sum += coordinates[i].step + coordinates[i].slope * difference;
  }
  return sum;
}

class AdaptiveSearch final : public Search {
 public:
  AdaptiveSearch(const VariantSet& set, std::uint64_t seed, const std::shared_ptr<WalkLimit>& limit)
      : set_(set),
        random_(seed),
        encoding_(set),
        pool_(set, random_.below(std::numeric_limits<std::uint64_t>::max()), limit),
        kernel_(encoding_.coordinates().size()),
        posterior_(encoding_.coordinates(), kernel_),
        remaining_(set, encoding_) {}

  void start_warm(const WarmStart& warm_start) override {
    WarmStart sorted = warm_start;
    std::ranges::stable_sort(sorted, {}, &WarmVariant::relative_time);
    for (const WarmVariant& warm : sorted) {
      if (warm_.size() < kWarm && set_.admits(warm.variant)) {
        warm_.push_back(set_.index(warm.variant));
      }
    }
    std::ranges::reverse(warm_);
  }

  std::optional<Variant> next() override {
    std::optional<std::uint64_t> index = next_warm();
    if (!index.has_value()) index = starts() ? start() : most_promising();
    if (!index.has_value()) return std::nullopt;
    Variant variant = set_.point(*index);
    add_observation(*index, variant);
    return variant;
  }

  std::function<void()> long_work() override {
    if (!warm_.empty() || starts() || known_ < kLongFit || !refit_is_due()) return nullptr;
    pool_.draw(kSample);  // not in the work: only the caller may use the limit
    return [this] {
      fit(TimeScale(observations_));
      use_drawn_candidates();
    };
  }

  void report(const Evaluation& evaluation) override {
    const std::uint64_t index = set_.index(evaluation.variant);
    if (!places_.contains(index)) add_observation(index, evaluation.variant);
    Observation& observation = observations_[places_[index]];
    observation.log_time = std::log(std::max(evaluation.median_ns, 1e-3));
    observation.state = evaluation.outcome == Outcome::ok          ? State::ok
                        : evaluation.outcome == Outcome::raced_out ? State::at_least
                                                                   : State::failed;
    measured_ += observation.state == State::ok ? 1 : 0;
    ++known_;
    const bool is_fastest =
        improvements_.empty() || observation.log_time < improvements_.back().log_time;
    if (observation.state == State::ok && is_fastest) {
      improvements_.push_back({known_, observation.log_time});
    }
  }

  double chance_of_gain(double gain) const override {
    const double log_gain = -std::log1p(-gain);
    if (!scale_.has_value() || 2 * in_vain(log_gain) < std::max(2 * kInVain, known_)) return 1;
    const bool is_of_now = estimate_.has_value() && estimate_->gain == gain &&
                           estimate_->improvements == improvements_.size() &&
                           known_ < estimate_->known + kRenew;
    if (!is_of_now) {
      const double chance = std::min(1.0, kOverconfidence * chance_below(log_gain));
      estimate_ = Estimate{gain, improvements_.size(), known_, chance};
    }
    return estimate_->chance;
  }

 private:
  using State = Observation::State;

  // The result with the number `known` lowered the fastest time to `log_time`.
  struct Improvement {
    std::size_t known;
    double log_time;
  };

  // A result of chance_of_gain(), with its gain and the numbers of improvements and results that it
  // was computed from.
  struct Estimate {
    double gain;
    std::size_t improvements, known;
    double chance;
  };

  // The probability that a variant that was not visited is faster than the fastest by `log_gain`.
  double chance_below(double log_gain) const {
    const double bound = scale_->normalized(improvements_.back().log_time - log_gain);
    return remaining_.chance(
        posterior_, targets(), bound,
        [this](std::uint64_t index) { return pool_.is_excluded(index); }, known_);
  }

  // The number of results since the fastest time last fell by `log_gain`, in one step or in
  // several.
  std::size_t in_vain(double log_gain) const {
    std::size_t last = 0;
    double before = std::numeric_limits<double>::infinity();
    for (const Improvement& improvement : improvements_) {
      if (improvement.log_time > before - log_gain) continue;
      before = improvement.log_time;
      last = improvement.known;
    }
    return known_ - last;
  }

  // The variants of a warm start come before the suggestions of the model, because they say more
  // about fast variants than the first results do.
  std::optional<std::uint64_t> next_warm() {
    while (!warm_.empty()) {
      const std::uint64_t index = warm_.back();
      warm_.pop_back();
      if (!pool_.is_excluded(index)) return index;
    }
    return std::nullopt;
  }

  bool starts() const {
    return observations_.size() < std::max(kStart, set_.design_count()) || measured_ == 0;
  }

  // There is no model before anything was measured. So the search starts with the variant among a
  // few random ones that is farthest from all earlier variants. The farthest of all variants would
  // be a corner of the space, and corners are seldom fast.
  std::optional<std::uint64_t> start() {
    // The constructor does not draw, because drawing takes long in a sparse space.
    if (pool_.indices().empty()) pool_.draw(kSample);
    if (const auto index = of_untried_design()) return index;
    return remote_candidate();
  }

  // The model can only guess about a design without results, and a wrong guess could leave a small
  // design untried.
  std::optional<std::uint64_t> of_untried_design() const {
    if (tried_.size() == set_.design_count()) return std::nullopt;
    for (const std::uint64_t index : pool_.indices()) {
      if (!tried_.contains(set_.point(index).design)) return index;
    }
    return std::nullopt;
  }

  std::optional<std::uint64_t> remote_candidate() {
    std::optional<std::uint64_t> best;
    double best_distance = -1;
    const std::size_t choices = observations_.empty() ? 1 : kStartChoices;
    for (std::size_t i = 0; i < choices; ++i) {
      const std::optional<std::uint64_t> candidate = random_candidate();
      if (!candidate.has_value()) return std::nullopt;
      const EncodedPoint point = encoding_.encode(set_.point(*candidate));
      double nearest = std::numeric_limits<double>::infinity();
      for (const Observation& observation : observations_) {
        nearest = std::min(nearest, distance(encoding_.coordinates(), point, observation.point));
      }
      if (nearest <= best_distance) continue;
      best_distance = nearest;
      best = candidate;
    }
    return best;
  }

  std::optional<std::uint64_t> most_promising() {
    const TimeScale scale(observations_);
    if (refit_is_due()) fit(scale);
    if (lacks_candidates_) draw_candidates();
    while (next_to_model_ < observations_.size()) {
      posterior_.observe(observations_[next_to_model_].point);
      modelled_.push_back(next_to_model_++);
    }
    add_neighbors_of_best();
    add_new_candidates();
    condition(scale);
    if (const auto best = best_candidate(scale)) return best;
    pool_.draw(kSample);  // others
    if (!has_candidate()) {
      posterior_ = posterior_.without_candidates();
      lacks_candidates_ = true;
      return std::nullopt;
    }
    fit(scale);
    use_drawn_candidates();
    condition(scale);
    return best_candidate(scale);
  }

  bool has_candidate() const {
    return std::ranges::any_of(pool_.indices(),
                               [this](std::uint64_t index) { return !pool_.is_excluded(index); });
  }

  std::optional<std::uint64_t> best_candidate(const TimeScale& scale) const {
    const double best_time = scale.normalized(scale.best);
    std::optional<std::uint64_t> best;
    double best_improvement = -1;
    for (std::size_t i = 0; i < pool_.indices().size(); ++i) {
      if (pool_.is_excluded(pool_.indices()[i])) continue;
      const double improvement =
          expected_improvement(best_time, posterior_.mean(i), posterior_.deviation(i));
      if (improvement <= best_improvement) continue;
      best_improvement = improvement;
      best = pool_.indices()[i];
    }
    return best;
  }

  void add_observation(std::uint64_t index, const Variant& variant) {
    pool_.exclude(index);
    tried_.insert(variant.design);
    places_[index] = observations_.size();
    observations_.push_back({index, encoding_.encode(variant), State::pending, 0});
  }

  bool refit_is_due() const {
    return static_cast<double>(known_) >= kRefit * static_cast<double>(known_at_fit_) ||
           modelled_.size() >= kMaxModelled + kMaxGrowth;
  }

  // Fits the lengths and the noise to all results, and makes a posterior that has no candidates
  // yet.
  void fit(const TimeScale& scale) {
    choose_modelled(scale);
    PointTable points(encoding_.coordinates().size());
    std::vector<double> values;
    for (const std::size_t place : modelled_) {
      const Target target = scale.target(observations_[place]);
      if (target.kind == Target::Kind::unknown) continue;
      points.add(observations_[place].point);
      values.push_back(target.value);
    }
    fit_kernel(encoding_.coordinates(), points, values, random_, kernel_);
    known_at_fit_ = known_;

    posterior_ = Posterior(encoding_.coordinates(), kernel_);
    for (const std::size_t place : modelled_) posterior_.observe(observations_[place].point);
    next_to_model_ = observations_.size();
    lacks_candidates_ = true;
  }

  void draw_candidates() {
    pool_.draw(kSample);
    use_drawn_candidates();
  }

  void use_drawn_candidates() {
    has_neighbors_.clear();
    add_new_candidates();
    lacks_candidates_ = false;
  }

  void choose_modelled(const TimeScale& scale) {
    modelled_.resize(observations_.size());
    for (std::size_t i = 0; i < modelled_.size(); ++i) modelled_[i] = i;
    if (modelled_.size() <= kMaxModelled) return;
    const auto value = [&](std::size_t place) {
      const Target target = scale.target(observations_[place]);
      // Variants that are being measured stay in the model, so that it does not suggest nearly the
      // same variants.
      return target.kind == Target::Kind::unknown ? -std::numeric_limits<double>::infinity()
                                                  : target.value;
    };
    std::ranges::stable_sort(modelled_, {}, value);
    constexpr std::size_t kFastest = kMaxModelled * 2 / 3;
    for (std::size_t i = kFastest; i < kMaxModelled; ++i) {
      const auto other = i + static_cast<std::size_t>(random_.below(modelled_.size() - i));
      std::swap(modelled_[i], modelled_[other]);
    }
    modelled_.resize(kMaxModelled);
  }

  void add_neighbors_of_best() {
    std::vector<std::pair<double, std::uint64_t>> measured;
    for (const Observation& observation : observations_) {
      if (observation.state != State::ok) continue;
      measured.emplace_back(observation.log_time, observation.index);
    }
    const std::size_t count = std::min(kElite, measured.size());
    std::ranges::partial_sort(measured, measured.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
      if (!has_neighbors_.insert(measured[i].second).second) continue;
      pool_.add_neighbors(set_.point(measured[i].second));
    }
  }

  void add_new_candidates() {
    std::vector<EncodedPoint> points;
    for (std::size_t i = posterior_.candidates(); i < pool_.indices().size(); ++i) {
      points.push_back(encoding_.encode(set_.point(pool_.indices()[i])));
    }
    posterior_.add_candidates(points);
  }

  void condition(const TimeScale& scale) {
    scale_ = scale;
    posterior_.condition(targets());
  }

  std::vector<Target> targets() const {  // of the posterior's observations
    std::vector<Target> targets;
    targets.reserve(modelled_.size());
    for (const std::size_t place : modelled_) {
      targets.push_back(scale_->target(observations_[place]));
    }
    return targets;
  }

  std::optional<std::uint64_t> random_candidate() {
    for (int attempt = 0; attempt < 2; ++attempt) {
      const std::vector<std::uint64_t>& indices = pool_.indices();
      const std::size_t first = indices.empty() ? 0 : random_.below(indices.size());
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::uint64_t index = indices[(first + i) % indices.size()];
        if (!pool_.is_excluded(index)) return index;
      }
      pool_.draw(kSample);
    }
    return std::nullopt;
  }

  const VariantSet& set_;
  RandomStream random_;
  const MixedEncoding encoding_;
  CandidatePool pool_;
  std::vector<std::uint64_t> warm_;  // not tried yet, the best last

  std::vector<Observation> observations_;  // in the order in which they were given or reported
  std::map<std::uint64_t, std::size_t> places_;  // in observations_, by index in the set
  std::set<int> tried_;                          // designs
  std::size_t measured_ = 0;                     // ok
  std::size_t known_ = 0;                        // not pending
  std::vector<Improvement> improvements_;        // of the fastest

  CovarianceKernel kernel_;
  Posterior posterior_;
  mutable RemainingGain remaining_;
  mutable std::optional<Estimate> estimate_;  // the last one
  std::optional<TimeScale> scale_;            // of the posterior's targets
  std::vector<std::size_t> modelled_;         // places of the posterior's observations
  std::size_t next_to_model_ = 0;             // the first observation that the posterior lacks
  std::size_t known_at_fit_ = 0;              // 0: never fitted
  bool lacks_candidates_ = false;             // since the last fit
  std::set<std::uint64_t> has_neighbors_;     // their neighbors are candidates since then
};

std::unique_ptr<Search> make_adaptive(const VariantSet& set, std::uint64_t seed,
                                      const std::shared_ptr<WalkLimit>& limit) {
  return std::make_unique<AdaptiveSearch>(set, seed, limit);
}

}  // namespace

Strategy adaptive_strategy() { return {"adaptive", make_adaptive, true, true}; }

}  // namespace mgtune
