#include "final/final.h"

#include <algorithm>
#include <chrono>

#include "energy/energy_timing.h"
#include "final/count_finalists.h"
#include "final/sustained.h"
#include "sweep/same_code.h"
#include "timing/timer.h"

namespace mgtune {
namespace {

// Eight entries are enough: single measurements are not so wrong that they put the fastest variant
// in the ninth place. Times of the cpu device decide nothing, so there two entries are enough to
// show that a final works.
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

// The samples of the entries, if the final was held between exactly these entries; otherwise empty.
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

// The fastest variant has a second entry, which shows the noise: noise matters most among the
// fastest variants.
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

std::chrono::duration<double> launches_time(std::span<const OutcomeRecord> entries,
                                            const TurnBudget& budget) {
  double round_s = 0;
  for (const OutcomeRecord& entry : entries) {
    round_s += budget.settle_seconds + entry.measurement->median_ns / 1e9;
  }
  const double rounds = static_cast<double>(budget.min_rounds) + kMoreRounds;
  return std::chrono::duration<double>(kAllowance * std::max(budget.max_seconds, rounds * round_s));
}

// Whether an entry ended the final early. A reply `failed` says nothing about the entries.
bool is_broken_off(const WorkReply& reply) {
  return reply.kind == WorkReply::Kind::done &&
         (reply.outcome == Outcome::crashed || reply.outcome == Outcome::timeout ||
          reply.outcome == Outcome::launch_failed);
}

// Records the final twice: before the finalists' counters are read, because this takes seconds for
// each of them, and afterwards.
Status record_and_count(SweepShared& shared, const TunedView& view,
                        std::span<const OutcomeRecord> entries, FinalRecord& final, bool is_new) {
  if (is_new) MGTUNE_TRY(shared.store.record_final(final));
  if (!shared.counter.has_value()) return {};
  MGTUNE_ASSIGN(std::string missing, count_finalists(shared, view, entries));
  if (missing == final.not_counted) return {};
  final.not_counted = std::move(missing);
  return shared.store.record_final(final);
}

}  // namespace

std::vector<OutcomeRecord> choose_finalists(const SweepShared& shared, const TunedView& view,
                                            std::span<const OutcomeRecord> contenders) {
  return final_entries(contenders, view.tuned.default_variant, max_entries(shared, view));
}

Final::Final(SweepShared& shared, const TunedView& view, std::vector<OutcomeRecord> contenders,
             bool only_known)
    : shared_(shared), view_(view), contenders_(std::move(contenders)), only_known_(only_known) {}

Status Final::begin() { return hold(); }

Status Final::take(const WorkReply& reply) {
  request_.reset();
  switch (step_) {
    case Step::together:
      return take_timing(reply);
    case Step::alone:
      if (is_broken_off(reply) && !shared_.should_stop()) {
        OutcomeRecord& culprit = culprits_.emplace_back(entries_[alone_]);
        culprit.outcome = reply.outcome;
        culprit.message =
            "in the final, after it had passed its check and been measured: " + reply.message;
      }
      ++alone_;
      return run_next_alone();
    case Step::energy:
      return take_energy(reply);
  }
  return {};
}

// Holds the final among the contenders that were not expelled.
Status Final::hold() {
  const TunedRecord& tuned = view_.tuned;
  entries_ = choose_finalists(shared_, view_, contenders_);
  if (entries_.size() < 2 && only_known_) return {};
  if (entries_.size() < 2) {  // nothing to decide, but perhaps to count
    MGTUNE_ASSIGN(const std::string missing, count_finalists(shared_, view_, entries_));
    if (!missing.empty()) skip(view_.problem + ": " + missing);
    return {};
  }

  MGTUNE_ASSIGN(std::optional<FinalRecord> known,
                shared_.store.find_final(tuned.gpu, tuned.problem, tuned.method));
  if (known.has_value() && !samples_of(*known, entries_).empty()) {
    final_ = *std::move(known);
    MGTUNE_TRY(record_and_count(shared_, view_, entries_, final_, false));
    FinalRanking ranking = rank_final(entries_, samples_of(final_, entries_), tuned.default_variant,
                                      final_.noise_floor);
    return choose(std::move(ranking.pick));
  }
  if (only_known_ || shared_.should_stop()) return {};
  step_ = Step::together;
  request_timing(entries_, fastest_of(entries_));
  return {};
}

// Requests the timing of the entries. The reply has the samples of each entry; with `twice`, the
// last samples are those of a second entry of the variant at this index. The deadline is the
// deadline of one variant plus the time that the medians of the entries predict.
void Final::request_timing(std::span<const OutcomeRecord> entries,
                           std::optional<std::size_t> twice) {
  const double settle_s = depends_on_clocks(view_, shared_.device.kind) ? kSettleSeconds : 0;
  FinalRequest work{shared_.named_problem(view_), {}, settle_s};
  for (const OutcomeRecord& entry : entries) work.variants.push_back(entry.variant);
  if (twice.has_value()) work.variants.push_back(entries[*twice].variant);
  request(std::move(work), launches_time(entries, TurnBudget::of_final(settle_s)));
}

Status Final::take_timing(const WorkReply& reply) {
  if (reply.final.has_value() && is_complete(reply.final->samples_ns, entries_.size() + 1)) {
    return record(*reply.final);
  }
  if (shared_.should_stop()) return {};
  why_none_ = reply.message.empty() ? "the worker left samples out" : reply.message;
  alone_ = is_broken_off(reply) ? 0 : entries_.size();
  return run_next_alone();
}

Status Final::record(const TurnTiming& timing) {
  const TunedRecord& tuned = view_.tuned;
  const std::vector<Samples>& samples = timing.samples_ns;
  final_ = {};
  MGTUNE_ASSIGN(final_.sweep, shared_.journal.begin());
  final_.gpu = tuned.gpu;
  final_.problem = tuned.problem;
  final_.method = tuned.method;
  final_.noise_floor = noise_floor(samples.back(), samples[fastest_of(entries_)]);
  final_.clocks = timing.clocks;
  final_.note = timing.note;
  FinalRanking ranking = rank_final(entries_, std::span(samples).first(entries_.size()),
                                    tuned.default_variant, final_.noise_floor);
  final_.finalists = std::move(ranking.finalists);
  MGTUNE_TRY(record_and_count(shared_, view_, entries_, final_, true));
  return choose(std::move(ranking.pick));
}

// A crash in a final does not say which entry caused it: a message before each launch would take
// longer than the launches. So each entry runs alone, as long as it would in the final.
Status Final::run_next_alone() {
  if (shared_.should_stop()) return {};
  if (alone_ == entries_.size()) return expel_culprits();
  step_ = Step::alone;
  request_timing(std::span(entries_).subspan(alone_, 1), std::nullopt);
  return {};
}

// If all entries fail alone, the worker or the GPU is at fault. Contenders with the same code as a
// culprit go with it.
Status Final::expel_culprits() {
  const std::vector<OutcomeRecord> culprits = std::exchange(culprits_, {});
  if (culprits.empty() || culprits.size() == entries_.size()) {
    skip("the final of " + view_.op + " " + view_.problem + ": " + why_none_);
    return {};
  }
  for (const OutcomeRecord& culprit : culprits) {
    std::erase_if(contenders_, [&](const OutcomeRecord& contender) {
      if (measured_variant(contender) != measured_variant(culprit)) return false;
      OutcomeRecord& expelled = result_.expelled.emplace_back(contender);
      expelled.outcome = culprit.outcome;
      expelled.message = culprit.message;
      return true;
    });
  }
  return hold();
}

// Picks by the sweep's objective. `pick` is the pick by time.
Status Final::choose(Pick pick) {
  result_.pick = std::move(pick);
  if (shared_.options.objective == Objective::time) return {};
  const auto has_energy = [](const FinalistRecord& finalist) { return finalist.energy_j > 0; };
  if (shared_.should_stop() || std::ranges::all_of(final_.finalists, has_energy)) {
    return choose_by_energy("");
  }
  if (only_known_) return {};  // by time, until the final is held
  EnergyRequest work{shared_.named_problem(view_), {}};
  for (const FinalistRecord& finalist : final_.finalists) work.variants.push_back(finalist.variant);
  const std::chrono::duration<double> time(kAllowance *
                                           EnergyBudget{}.seconds(work.variants.size()));
  step_ = Step::energy;
  request(std::move(work), time);
  return {};
}

Status Final::take_energy(const WorkReply& reply) {
  const std::optional<TurnEnergy>& energy = reply.energy;
  const std::size_t count = final_.finalists.size();
  if (!energy.has_value() || energy->joules.size() != count ||
      energy->error_joules.size() != count) {
    return choose_by_energy(reply.message.empty() ? "the worker left energies out" : reply.message);
  }
  for (std::size_t i = 0; i < count; ++i) {
    final_.finalists[i].energy_j = energy->joules[i];
    final_.finalists[i].energy_error_j = energy->error_joules[i];
  }
  MGTUNE_TRY(shared_.store.record_final(final_));
  return choose_by_energy("");
}

// `missing` says why finalists have no energy.
Status Final::choose_by_energy(const std::string& missing) {
  if (!missing.empty()) {
    skip("the energy of the finalists of " + view_.op + " " + view_.problem +
         ", so the pick is by time: " + missing);
  }
  pick_by_energy(entries_, final_.finalists, view_.tuned.default_variant, *result_.pick);
  return {};
}

void Final::skip(std::string what) { shared_.summary.skipped.push_back(std::move(what)); }

template <typename Work>
void Final::request(Work work, std::chrono::duration<double> launches) {
  request_ = shared_.next_request++;
  shared_.workers.submit({*request_, std::move(work)}, MeasurePool::Place::any,
                         std::chrono::ceil<std::chrono::milliseconds>(launches));
}

}  // namespace mgtune
