#include "final/pick.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "family/variant.h"
#include "final/problem_metrics.h"
#include "selection/pick_key.h"
#include "selection/variant_selection.h"
#include "sweep/same_code.h"
#include "sweep/sweep_shared.h"
#include "timing/statistics.h"

namespace mgtune {
namespace {

constexpr double kSmallestGain = 0.01;

bool is_faster(const OutcomeRecord& a, const OutcomeRecord& b) {
  return std::tie(a.measurement->median_ns, a.variant) <
         std::tie(b.measurement->median_ns, b.variant);
}

// A build that does not report its registers comes last.
int known_registers(const OutcomeRecord& contender) {
  return contender.build.registers >= 0 ? contender.build.registers : INT_MAX;
}

// Which of two equally fast variants is preferred.
bool is_preferred(const OutcomeRecord& a, const OutcomeRecord& b) {
  return std::pair(known_registers(a), a.variant) < std::pair(known_registers(b), b.variant);
}

// The variant that runs the problem if nothing is tuned: the first admissible rung of the ladder.
std::string default_variant_text(const Space& space) {
  const std::vector<Variant> ladder = space.ladder();
  return ladder.empty() ? "" : variant_text(space.op(), ladder.front());
}

// On an H200, the medians of one variant in different processes differ by this share
// (results/h200/repeatability.txt).
constexpr double kBetweenProcesses = 0.005;

SampleSummary ratio(const Samples& a, const Samples& b) {
  std::vector<double> ratios;
  ratios.reserve(a.size());
  for (std::size_t round = 0; round < a.size(); ++round) ratios.push_back(a[round] / b[round]);
  return summarise(ratios);
}

bool is_slower(const Samples& a, const Samples& b, double noise) {
  return ratio(a, b).median_low > 1 + noise;
}

// A variant that is slower than the fastest by this factor cannot win: the errors of single
// measurements are far smaller.
constexpr double kHopeless = 1.25;

std::size_t place_of(std::span<const OutcomeRecord> entries, const std::string& variant) {
  const auto found = std::ranges::find(entries, variant, &OutcomeRecord::variant);
  return static_cast<std::size_t>(found - entries.begin());
}

// The place of the entry to pick, by the rules in pick.h. `standard` is the place of the default,
// or entries.size() if the default is not among them. beats(a, b) says whether the entry at place
// `a` is faster than the one at `b` by more than noise.
template <typename Beats>
std::size_t choose(std::span<const OutcomeRecord> entries, std::size_t fastest,
                   std::size_t standard, const Beats& beats) {
  const bool has_default = standard < entries.size();
  if (has_default && !beats(fastest, standard)) return standard;
  std::size_t winner = fastest;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool eligible = !has_default || beats(i, standard);
    if (eligible && !beats(fastest, i) && is_preferred(entries[i], entries[winner])) winner = i;
  }
  return winner;
}

// Replaces the stored metrics: what the file says now holds for results of earlier sweeps too.
Status record_problem_metrics(Store& store, std::int64_t id, const Problem& problem) {
  MGTUNE_ASSIGN(const std::vector<Metric> metrics, problem_metrics(problem));
  std::vector<MetricRecord> records;
  records.reserve(metrics.size());
  for (const Metric& metric : metrics) records.push_back({metric.name, metric.formula.text()});
  return store.record_metrics(id, records);
}

void fill_in(const Pick& pick, TunedRecord& tuned) {
  tuned.variant = pick.winner.variant;
  tuned.build_sha256 = pick.winner.build.sha256;
  tuned.median_ns = pick.winner.measurement->median_ns;
  tuned.default_median_ns = pick.default_median_ns;
  tuned.tie = pick.tie;
}

}  // namespace

bool beats(const OutcomeRecord& a, const OutcomeRecord& b) {
  const double limit_ns = b.measurement->median_ns * (1 - kSmallestGain);
  return a.measurement->q3_ns < b.measurement->q1_ns && a.measurement->median_ns < limit_ns;
}

std::optional<Pick> pick_winner(std::span<const OutcomeRecord> contenders,
                                const std::string& default_variant) {
  if (contenders.empty()) return std::nullopt;
  const auto first = std::ranges::min_element(contenders, is_faster);
  const auto fastest = static_cast<std::size_t>(first - contenders.begin());
  const std::size_t standard = place_of(contenders, default_variant);
  const std::size_t winner =
      choose(contenders, fastest, standard,
             [&](std::size_t a, std::size_t b) { return beats(contenders[a], contenders[b]); });
  Pick pick{contenders[winner], 0, winner == standard && winner != fastest};
  if (standard < contenders.size()) {
    pick.default_median_ns = contenders[standard].measurement->median_ns;
  }
  return pick;
}

std::vector<OutcomeRecord> final_entries(std::span<const OutcomeRecord> contenders,
                                         const std::string& default_variant, std::size_t max) {
  std::vector<OutcomeRecord> sorted(contenders.begin(), contenders.end());
  std::ranges::sort(sorted, is_faster);
  const auto standard = std::ranges::find(sorted, default_variant, &OutcomeRecord::variant);
  if (standard != sorted.end()) {
    std::rotate(sorted.begin(), standard, standard + 1);
    ++max;
  }
  std::vector<OutcomeRecord> entries;
  double fastest_ns = 0;
  for (const OutcomeRecord& contender : sorted) {
    if (entries.size() == max) break;
    if (contender.variant != default_variant) {
      const auto measured = measured_variant(contender.measurement->note);
      if (measured && std::ranges::count(sorted, *measured, &OutcomeRecord::variant) > 0) continue;
      const double median_ns = contender.measurement->median_ns;
      if (fastest_ns == 0) fastest_ns = median_ns;
      if (median_ns > fastest_ns * kHopeless) break;
    }
    entries.push_back(contender);
  }
  return entries;
}

double noise_floor(const Samples& a, const Samples& b) {
  const SampleSummary same = ratio(a, b);
  return std::max(std::abs(same.median_low - 1), std::abs(same.median_high - 1));
}

FinalRanking rank_final(std::span<const OutcomeRecord> entries, std::span<const Samples> samples,
                        const std::string& default_variant, double noise_floor) {
  const double noise = std::max(noise_floor, kBetweenProcesses);
  std::vector<std::size_t> order(entries.size());
  std::vector<SampleSummary> ratios;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    order[i] = i;
    ratios.push_back(ratio(samples[i], samples[0]));
  }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::tie(ratios[a].median, entries[a].variant) <
           std::tie(ratios[b].median, entries[b].variant);
  });
  const std::size_t fastest = order.front();

  FinalRanking ranking;
  for (const std::size_t i : order) {
    FinalistRecord& finalist = ranking.finalists.emplace_back();
    finalist.variant = entries[i].variant;
    finalist.build_sha256 = entries[i].build.sha256;
    finalist.launch_hash = entries[i].key.launch_hash;
    const SampleSummary summary = summarise(samples[i]);
    finalist.median_ns = summary.median;
    finalist.median_low_ns = summary.median_low;
    finalist.median_high_ns = summary.median_high;
    finalist.ratio = ratios[i].median;
    finalist.ratio_low = ratios[i].median_low;
    finalist.ratio_high = ratios[i].median_high;
    finalist.tied = !is_slower(samples[i], samples[fastest], noise);
    finalist.samples_ns = samples[i];
  }

  const std::size_t standard = place_of(entries, default_variant);
  const std::size_t winner = choose(entries, fastest, standard, [&](std::size_t a, std::size_t b) {
    return is_slower(samples[b], samples[a], noise);
  });
  const SampleSummary summary = summarise(samples[winner]);
  ranking.pick.winner = entries[winner];
  ranking.pick.winner.measurement->median_ns = summary.median;
  ranking.pick.winner.measurement->q1_ns = summary.q1;
  ranking.pick.winner.measurement->q3_ns = summary.q3;
  if (standard < entries.size()) {
    ranking.pick.default_median_ns = summarise(samples[standard]).median;
  }
  ranking.pick.tie = winner == standard && winner != fastest;
  return ranking;
}

void pick_by_energy(std::span<const OutcomeRecord> entries,
                    std::span<const FinalistRecord> finalists, const std::string& default_variant,
                    Pick& pick) {
  if (finalists.empty() || std::ranges::any_of(finalists, [](const FinalistRecord& finalist) {
        return finalist.energy_j <= 0;
      })) {
    return;
  }
  const auto least = std::ranges::min_element(finalists, {}, &FinalistRecord::energy_j);
  const auto standard = std::ranges::find(finalists, default_variant, &FinalistRecord::variant);
  auto winner = least;
  if (standard != finalists.end()) {
    const double least_high = least->energy_j + least->energy_error_j;
    if (least_high >= standard->energy_j - standard->energy_error_j) winner = standard;
  }
  const auto entry = std::ranges::find(entries, winner->variant, &OutcomeRecord::variant);
  if (entry == entries.end()) return;
  const SampleSummary summary = summarise(winner->samples_ns);
  pick.winner = *entry;
  pick.winner.measurement->median_ns = summary.median;
  pick.winner.measurement->q1_ns = summary.q1;
  pick.winner.measurement->q3_ns = summary.q3;
  pick.tie = winner == standard && winner != least;
}

Result<TunedView> view_before_pick(SweepShared& shared, const Problem& problem,
                                   const Space& space) {
  const Operator& op = *problem.op;
  TunedView view;
  view.gpu = gpu_record(shared.device);
  view.op = op.full_name();
  view.problem = problem.text();
  MGTUNE_ASSIGN(const std::int64_t bytes, op.bytes.evaluate(problem.slots));
  MGTUNE_ASSIGN(const std::int64_t flops, op.flops.evaluate(problem.slots));
  view.bytes = static_cast<double>(bytes);
  view.flops = static_cast<double>(flops);
  view.tuned.gpu = shared.gpu_id;
  MGTUNE_ASSIGN(view.tuned.problem,
                shared.store.problem_id(view.op, view.problem, view.bytes, view.flops));
  MGTUNE_TRY(record_problem_metrics(shared.store, view.tuned.problem, problem));
  view.tuned.default_variant = default_variant_text(space);
  view.tuned.method = shared.options.method.name;
  view.tuned.key = key_of(problem);
  return view;
}

Status record_first_pick(SweepShared& shared, const std::optional<Pick>& pick,
                         const TunedView& view) {
  TunedRecord tuned = view.tuned;
  MGTUNE_ASSIGN(const std::optional<TunedView> stored,
                shared.store.find_tuned(tuned.gpu, tuned.problem, tuned.method));
  if (stored || !pick) return {};
  fill_in(*pick, tuned);
  MGTUNE_ASSIGN(tuned.sweep, shared.journal.begin());
  return shared.store.record_tuned(tuned);
}

Status record_pick(SweepShared& shared, const std::optional<Pick>& pick, TunedView& view) {
  TunedRecord& tuned = view.tuned;
  if (!pick.has_value()) {
    return shared.store.withdraw_tuned(tuned.gpu, tuned.problem, tuned.method);
  }
  fill_in(*pick, tuned);

  MGTUNE_ASSIGN(const std::optional<TunedView> stored,
                shared.store.find_tuned(tuned.gpu, tuned.problem, tuned.method));
  if (stored) tuned.sweep = stored->tuned.sweep;
  if (stored && stored->tuned == tuned) {
    if (view.copy_ns == 0) view.copy_ns = stored->copy_ns;
  } else {
    MGTUNE_ASSIGN(tuned.sweep, shared.journal.begin());
    MGTUNE_TRY(shared.store.record_tuned(tuned));
  }
  // An earlier run() may have picked as well.
  std::erase_if(shared.summary.picks, [&](const TunedView& earlier) {
    return earlier.op == view.op && earlier.problem == view.problem;
  });
  shared.summary.picks.push_back(view);
  return {};
}

}  // namespace mgtune
