#include "final/final.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "final/final_ranking.h"
#include "final/finalist_counters.h"

namespace mgtune {
namespace {

// Single measurements do not put the fastest variant in the ninth place. Emulation's times decide
// nothing, so there two entries are enough to show that a final works.
constexpr std::size_t kMaxEntries = 8;
constexpr std::size_t kMaxEmulatedEntries = 2;

bool is_same(const FinalistRecord& finalist, const Contender& entry) {
  return finalist.variant == entry.variant && finalist.build_sha256 == entry.build_sha256 &&
         finalist.launch_hash == entry.launch_hash;
}

// The samples of the entries, if the final was held between exactly these; otherwise empty.
std::vector<Samples> samples_of(const FinalRecord& final, std::span<const Contender> entries) {
  if (final.finalists.size() != entries.size()) return {};
  std::vector<Samples> samples;
  for (const Contender& entry : entries) {
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
std::size_t fastest_of(std::span<const Contender> entries) {
  const auto fastest = std::ranges::min_element(entries, {}, &Contender::median_ns);
  return static_cast<std::size_t>(fastest - entries.begin());
}

// Recorded before the finalists are counted, which takes seconds each, and after.
Status record_and_count(SweepShared& shared, const Problem& problem, const TunedView& view,
                        std::span<const Contender> entries, FinalRecord& final, bool is_new) {
  if (is_new) MGTUNE_TRY(shared.store.record_final(final));
  if (!shared.counter.has_value()) return {};
  MGTUNE_ASSIGN(std::string missing, count_finalists(shared, problem, view.tuned, entries));
  if (missing == final.not_counted) return {};
  final.not_counted = std::move(missing);
  return shared.store.record_final(final);
}

Result<std::optional<FinalRecord>> find_final(Store& store, const TunedView& view,
                                              std::span<const Contender> entries) {
  MGTUNE_ASSIGN(std::vector<FinalView> known, store.finals(view.op));
  for (FinalView& earlier : known) {
    FinalRecord& final = earlier.final;
    const bool is_of_this = final.gpu == view.tuned.gpu && final.problem == view.tuned.problem &&
                            final.method == view.tuned.method;
    if (is_of_this && !samples_of(final, entries).empty()) {
      return std::optional<FinalRecord>(std::move(final));
    }
  }
  return std::optional<FinalRecord>();
}

// A final among these contenders. Those that it expels must not be in the next one.
Result<std::optional<Pick>> hold_among(SweepShared& shared, const Problem& problem,
                                       const TunedView& view, std::span<const Contender> contenders,
                                       std::vector<Expelled>& expelled) {
  const TunedRecord& tuned = view.tuned;
  const std::string& default_variant = tuned.default_variant;
  const bool is_emulation = shared.device.kind == DeviceKind::cpu;
  const std::vector<Contender> entries =
      final_entries(contenders, default_variant, is_emulation ? kMaxEmulatedEntries : kMaxEntries);
  if (entries.size() < 2) {  // nothing to decide, but perhaps to count
    MGTUNE_ASSIGN(const std::string missing, count_finalists(shared, problem, tuned, entries));
    if (!missing.empty()) shared.summary.skipped.push_back(view.problem + ": " + missing);
    return std::optional<Pick>();
  }

  MGTUNE_ASSIGN(std::optional<FinalRecord> known, find_final(shared.store, view, entries));
  if (known.has_value()) {
    MGTUNE_TRY(record_and_count(shared, problem, view, entries, *known, false));
    return std::optional(
        rank_final(entries, samples_of(*known, entries), default_variant, known->noise_floor).pick);
  }

  if (shared.should_stop()) return std::optional<Pick>();
  const Result<WorkReply> reply = run_final(shared, view, entries, fastest_of(entries));
  const bool complete = reply.ok() && reply->final.has_value() &&
                        is_complete(reply->final->samples_ns, entries.size() + 1);
  if (!complete) {
    std::vector<Expelled> culprits;
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
  MGTUNE_TRY(record_and_count(shared, problem, view, entries, final, true));
  return std::optional(std::move(ranking.pick));
}

}  // namespace

Result<FinalResult> hold_final(SweepShared& shared, const Problem& problem, const TunedView& view,
                               std::span<const Contender> contenders) {
  FinalResult result;
  std::vector<Contender> left(contenders.begin(), contenders.end());
  while (true) {
    const std::size_t before = result.expelled.size();
    MGTUNE_ASSIGN(result.pick, hold_among(shared, problem, view, left, result.expelled));
    if (result.expelled.size() == before) return result;
    for (const Expelled& culprit : result.expelled) {
      std::erase_if(left, [&](const Contender& one) { return one.variant == culprit.variant; });
    }
  }
}

}  // namespace mgtune
