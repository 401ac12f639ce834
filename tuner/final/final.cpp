#include "final/final.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "energy/energy_timing.h"
#include "final/sustained.h"
#include "timing/timer.h"

namespace mgtune {
namespace {

// Single measurements do not put the fastest variant in the ninth place. Emulation's times decide
// nothing, so there two entries are enough to show that a final works.
constexpr std::size_t kMaxEntries = 8;
constexpr std::size_t kMaxEmulatedEntries = 2;

// An entry that runs alone before each of its samples takes 3 to 4 s in a final.
constexpr std::size_t kMaxSustainedEntries = 6;

std::size_t max_entries(const SweepShared& shared, const TunedView& view) {
  if (shared.device.kind == DeviceKind::cpu) return kMaxEmulatedEntries;
  return depends_on_clocks(view, shared.device.kind) ? kMaxSustainedEntries : kMaxEntries;
}

bool is_same(const FinalistRecord& finalist, const OutcomeRecord& entry) {
  return finalist.variant == entry.variant && finalist.build_sha256 == entry.build.sha256 &&
         finalist.launch_hash == entry.key.launch_hash;
}

// The samples of the entries, if the final was held between exactly these; otherwise empty.
std::vector<Samples> samples_of(const FinalRecord& final, std::span<const OutcomeRecord> entries) {
  if (final.finalists.size() != entries.size()) return {};
  std::vector<Samples> samples;
  for (const OutcomeRecord& entry : entries) {
    const auto same = std::ranges::find_if(
        final.finalists, [&](const FinalistRecord& finalist) { return is_same(finalist, entry); });
    if (same == final.finalists.end() || same->samples_ns.empty() ||
        same->samples_ns.size() != final.finalists.front().samples_ns.size()) {
      return {};
    }
    samples.push_back(same->samples_ns);
  }
  return samples;
}

// Whether each entry has one sample per round, and there is at least one round.
bool is_complete(const std::vector<Samples>& samples, std::size_t entries) {
  return samples.size() == entries && !samples.front().empty() &&
         std::ranges::all_of(samples, [&](const Samples& of_entry) {
           return of_entry.size() == samples.front().size() &&
                  std::ranges::all_of(of_entry, [](double ns) { return ns > 0; });
         });
}

// The fastest has a second entry, which shows the noise, because noise decides among the fast ones.
std::size_t fastest_of(std::span<const OutcomeRecord> entries) {
  const auto fastest = std::ranges::min_element(
      entries, {}, [](const OutcomeRecord& entry) { return entry.measurement->median_ns; });
  return static_cast<std::size_t>(fastest - entries.begin());
}

// How much longer than their own time the launches may take: some rounds are warm-up or are
// repeated because of the clocks, and a sample may be several launches.
constexpr double kAllowance = 4;
constexpr double kMoreRounds = 2;

// TurnBudget::settle_seconds. On an H200 the times of most variants of attention have settled by
// then.
constexpr double kSettleSeconds = 0.2;

std::chrono::milliseconds launches_time(std::span<const OutcomeRecord> entries,
                                        const TurnBudget& budget) {
  double round_s = 0;
  for (const OutcomeRecord& entry : entries) {
    round_s += budget.settle_seconds + entry.measurement->median_ns / 1e9;
  }
  const double rounds = static_cast<double>(budget.min_rounds) + kMoreRounds;
  const std::chrono::duration<double> time(kAllowance *
                                           std::max(budget.max_seconds, rounds * round_s));
  return std::chrono::ceil<std::chrono::milliseconds>(time);
}

// The reply has the samples of each entry, and last the samples of a second entry of the variant at
// the place `twice`. The deadline is that of one variant plus the time that the medians of the
// entries predict. A Status does not mean that an entry failed.
Result<WorkReply> run_final(SweepShared& shared, const TunedView& view,
                            std::span<const OutcomeRecord> entries,
                            std::optional<std::size_t> twice) {
  const double settle_s = depends_on_clocks(view, shared.device.kind) ? kSettleSeconds : 0;
  FinalRequest work{shared.named_problem(view), {}, settle_s};
  for (const OutcomeRecord& entry : entries) work.variants.push_back(entry.variant);
  if (twice.has_value()) work.variants.push_back(entries[*twice].variant);
  const std::chrono::milliseconds extra = launches_time(entries, TurnBudget::of_final(settle_s));
  return shared.workers.measure({shared.next_request++, std::move(work)}, extra);
}

// Whether an entry ended the final early.
bool is_broken_off(const WorkReply& reply) {
  return reply.outcome == Outcome::crashed || reply.outcome == Outcome::timeout ||
         reply.outcome == Outcome::launch_failed;
}

// A crash in a final does not say which entry caused it: a message before each launch would take
// longer than the launches. So each entry runs alone, as long as it would in the final. Returns the
// entries that break off their own run, with the outcome of that run. It returns none if the sweep
// was asked to stop, and none if all entries fail, because then the worker or the GPU is at fault.
std::vector<OutcomeRecord> find_culprits(SweepShared& shared, const TunedView& view,
                                         std::span<const OutcomeRecord> entries) {
  std::vector<OutcomeRecord> culprits;
  for (std::size_t i = 0; i < entries.size() && !shared.should_stop(); ++i) {
    const Result<WorkReply> reply = run_final(shared, view, entries.subspan(i, 1), std::nullopt);
    if (!reply.ok() || !is_broken_off(*reply) || shared.should_stop()) continue;
    OutcomeRecord& culprit = culprits.emplace_back(entries[i]);
    culprit.outcome = reply->outcome;
    culprit.message =
        "in the final, after it had passed its check and been measured: " + reply->message;
  }
  if (culprits.size() == entries.size()) culprits.clear();
  return culprits;
}

// One problem may be too large for the memory that is left. Two in a row mean that the machine
// refuses.
constexpr int kRefusals = 2;

void add_reason(const std::string& what, std::string& text) {
  if (text.find(what) == std::string::npos) text += (text.empty() ? "" : "; ") + what;
}

// Records the counters of the finalists that have none yet, if the sweep counts. The text says
// which finalists have no counters and why, or how the counting was incomplete; "" if nothing is
// missing. If the machine refused two problems, it is not asked again in the sweep. A Status is a
// failure of the store.
Result<std::string> count_finalists(SweepShared& shared, const TunedView& view,
                                    std::span<const OutcomeRecord> finalists) {
  std::string text;
  if (!shared.counter.has_value()) return text;
  for (const OutcomeRecord& finalist : finalists) {
    const ResultKey key{view.tuned.gpu, view.tuned.problem, finalist.build.sha256,
                        finalist.key.launch_hash, ""};
    MGTUNE_ASSIGN(const std::vector<CounterRecord> known, shared.store.counters(key));
    if (!known.empty()) continue;
    if (shared.counters_refused >= kRefusals) {
      add_reason("not counted: refused for the problems before", text);
      return text;
    }
    if (shared.should_stop()) return std::string("not counted: the sweep was stopped");
    const Result<WorkReply> reply = shared.counter->run(
        {shared.next_request++, CountRequest{{shared.named_problem(view), finalist.variant}, 1}});
    if (reply.ok() && reply->outcome == Outcome::ok) {
      shared.counters_refused = 0;
      MGTUNE_ASSIGN(const std::int64_t sweep, shared.journal.begin());
      MGTUNE_TRY(
          shared.store.record_counters(sweep, key, finalist.variant, reply->counters->values));
      if (!reply->counters->note.empty()) add_reason("counted with " + reply->counters->note, text);
      continue;
    }
    if (shared.should_stop()) return std::string("not counted: the sweep was stopped");
    add_reason("not counted: " + (reply.ok() ? finalist.variant + ": " + reply->message
                                             : reply.status().message()),
               text);
    if (reply.status().code() == StatusCode::environment) {
      ++shared.counters_refused;
      return text;
    }
  }
  return text;
}

// Measures the energy of the finalists, if the sweep asks for it and they have none yet. The text
// says why they have none; "" otherwise. A Status is a failure of the store.
Result<std::string> measure_energies(SweepShared& shared, const TunedView& view,
                                     FinalRecord& final) {
  const auto has_energy = [](const FinalistRecord& finalist) { return finalist.energy_j > 0; };
  if (shared.options.objective != Objective::energy || shared.should_stop() ||
      std::ranges::all_of(final.finalists, has_energy)) {
    return std::string();
  }
  EnergyRequest work{shared.named_problem(view), {}};
  for (const FinalistRecord& finalist : final.finalists) work.variants.push_back(finalist.variant);
  const std::chrono::duration<double> extra(kAllowance *
                                            EnergyBudget{}.seconds(work.variants.size()));
  const Result<WorkReply> reply =
      shared.workers.measure({shared.next_request++, std::move(work)},
                             std::chrono::ceil<std::chrono::milliseconds>(extra));
  if (!reply.ok()) return reply.status().message();
  const std::optional<TurnEnergy>& energy = reply->energy;
  const bool is_complete = energy.has_value() && energy->joules.size() == final.finalists.size() &&
                           energy->error_joules.size() == final.finalists.size();
  if (!is_complete) {
    return reply->message.empty() ? std::string("the worker left energies out") : reply->message;
  }
  for (std::size_t i = 0; i < final.finalists.size(); ++i) {
    final.finalists[i].energy_j = energy->joules[i];
    final.finalists[i].energy_error_j = energy->error_joules[i];
  }
  MGTUNE_TRY(shared.store.record_final(final));
  return std::string();
}

// The pick by the sweep's objective. `pick` is that by time.
Result<std::optional<Pick>> by_objective(SweepShared& shared, const TunedView& view,
                                         std::span<const OutcomeRecord> entries, FinalRecord& final,
                                         Pick pick) {
  if (shared.options.objective == Objective::time) return std::optional(std::move(pick));
  MGTUNE_ASSIGN(const std::string missing, measure_energies(shared, view, final));
  if (!missing.empty()) {
    shared.summary.skipped.push_back("the energy of the finalists of " + view.op + " " +
                                     view.problem + ", so the pick is by time: " + missing);
  }
  pick_by_energy(entries, final.finalists, view.tuned.default_variant, pick);
  return std::optional(std::move(pick));
}

// Recorded before the finalists are counted, which takes seconds each, and after.
Status record_and_count(SweepShared& shared, const TunedView& view,
                        std::span<const OutcomeRecord> entries, FinalRecord& final, bool is_new) {
  if (is_new) MGTUNE_TRY(shared.store.record_final(final));
  if (!shared.counter.has_value()) return {};
  MGTUNE_ASSIGN(std::string missing, count_finalists(shared, view, entries));
  if (missing == final.not_counted) return {};
  final.not_counted = std::move(missing);
  return shared.store.record_final(final);
}

// Holds a final among these contenders. The caller must remove the expelled ones before the next
// final.
Result<std::optional<Pick>> hold_among(SweepShared& shared, const TunedView& view,
                                       std::span<const OutcomeRecord> contenders, bool only_known,
                                       std::vector<OutcomeRecord>& expelled) {
  const TunedRecord& tuned = view.tuned;
  const std::string& default_variant = tuned.default_variant;
  const std::vector<OutcomeRecord> entries = choose_finalists(shared, view, contenders);
  if (entries.size() < 2 && only_known) return std::optional<Pick>();
  if (entries.size() < 2) {  // nothing to decide, but perhaps to count
    MGTUNE_ASSIGN(const std::string missing, count_finalists(shared, view, entries));
    if (!missing.empty()) shared.summary.skipped.push_back(view.problem + ": " + missing);
    return std::optional<Pick>();
  }

  MGTUNE_ASSIGN(std::optional<FinalRecord> known,
                shared.store.find_final(tuned.gpu, tuned.problem, tuned.method));
  if (known.has_value() && !samples_of(*known, entries).empty()) {
    MGTUNE_TRY(record_and_count(shared, view, entries, *known, false));
    FinalRanking ranking =
        rank_final(entries, samples_of(*known, entries), default_variant, known->noise_floor);
    return by_objective(shared, view, entries, *known, std::move(ranking.pick));
  }

  if (only_known || shared.should_stop()) return std::optional<Pick>();
  const Result<WorkReply> reply = run_final(shared, view, entries, fastest_of(entries));
  const bool complete = reply.ok() && reply->final.has_value() &&
                        is_complete(reply->final->samples_ns, entries.size() + 1);
  if (!complete) {
    std::vector<OutcomeRecord> culprits;
    if (reply.ok() && is_broken_off(*reply)) culprits = find_culprits(shared, view, entries);
    if (shared.should_stop()) return std::optional<Pick>();
    if (!culprits.empty()) {
      expelled.insert(expelled.end(), culprits.begin(), culprits.end());
      return std::optional<Pick>();
    }
    const std::string reason = !reply.ok()              ? reply.status().message()
                               : reply->message.empty() ? "the worker left samples out"
                                                        : reply->message;
    shared.summary.skipped.push_back("the final of " + view.op + " " + view.problem + ": " +
                                     reason);
    return std::optional<Pick>();
  }
  const std::vector<Samples>& samples = reply->final->samples_ns;
  FinalRecord final;
  MGTUNE_ASSIGN(final.sweep, shared.journal.begin());
  final.gpu = tuned.gpu;
  final.problem = tuned.problem;
  final.method = tuned.method;
  final.noise_floor = noise_floor(samples.back(), samples[fastest_of(entries)]);
  final.clocks = reply->final->clocks;
  final.note = reply->final->note;
  FinalRanking ranking = rank_final(entries, std::span(samples).first(entries.size()),
                                    default_variant, final.noise_floor);
  final.finalists = std::move(ranking.finalists);
  MGTUNE_TRY(record_and_count(shared, view, entries, final, true));
  return by_objective(shared, view, entries, final, std::move(ranking.pick));
}

}  // namespace

std::vector<OutcomeRecord> choose_finalists(const SweepShared& shared, const TunedView& view,
                                            std::span<const OutcomeRecord> contenders) {
  return final_entries(contenders, view.tuned.default_variant, max_entries(shared, view));
}

Result<FinalResult> hold_final(SweepShared& shared, const TunedView& view,
                               std::vector<OutcomeRecord> contenders, bool only_known) {
  FinalResult result;
  while (true) {
    const std::size_t before = result.expelled.size();
    MGTUNE_ASSIGN(result.pick, hold_among(shared, view, contenders, only_known, result.expelled));
    if (result.expelled.size() == before) return result;
    std::erase_if(contenders, [&](const OutcomeRecord& contender) {
      return std::ranges::find(result.expelled, contender.variant, &OutcomeRecord::variant) !=
             result.expelled.end();
    });
  }
}

}  // namespace mgtune
