// The final of one problem: a measure worker times the fastest variants and the default again, in
// rounds of random order. The fastest variant has two entries, and their difference shows the
// noise. The final is recorded with every sample. If a later sweep has the same entries, they are
// not timed again.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "final/pick.h"
#include "store/views.h"
#include "sweep/sweep_shared.h"

namespace mgtune {

struct FinalResult {
  // There is no pick if there are fewer than two entries, if the sweep was asked to stop, or if the
  // final failed for another reason (the summary has the reason). Then the caller picks by the
  // single measurements of the contenders that were not expelled.
  std::optional<Pick> pick;
  // The contenders that crashed, hung or could not be launched, first in the final and again when
  // they ran alone; and the contenders with the same code as one of these. They now have this
  // outcome, although they had passed their checks and been measured before. The final was held
  // without them.
  std::vector<OutcomeRecord> expelled;
};

// Chooses the contenders that take part in the final: the fastest ones and the default.
std::vector<OutcomeRecord> choose_finalists(const SweepShared& shared, const TunedView& view,
                                            std::span<const OutcomeRecord> contenders);

// Final: gives one request after the other to the measure pool. It does not wait for the replies;
// the caller passes them to take(). All entries of a request are timed on one GPU, whichever is
// free first. If an entry crashes, hangs or cannot be launched, each entry runs alone. The entries
// that fail again are expelled, and the final is held again with the others. With --counters, the
// hardware counters of the finalists are read too; the call waits for these. One thread.
class Final {
 public:
  // Each contender has a measurement. `view` has the problem's default and the timing method. If
  // `only_known` is true, nothing is timed, and a final counts only if the store already has it
  // with the same entries. `shared` and `view` must outlive the object.
  Final(SweepShared& shared, const TunedView& view, std::vector<OutcomeRecord> contenders,
        bool only_known);

  // Call it once, before all other functions. If begin() or take() fails, the store has failed.
  Status begin();

  // The request whose reply the final waits for; nullopt when the result is ready.
  std::optional<std::int64_t> awaits() const { return request_; }
  Status take(const WorkReply& reply);

  FinalResult take_result() { return std::move(result_); }

 private:
  // What the request is for.
  enum class Step : std::uint8_t { together, alone, energy };

  Status hold();
  Status take_timing(const WorkReply& reply);
  Status record(const TurnTiming& timing);
  Status run_next_alone();
  Status expel_culprits();
  Status choose(Pick pick);
  Status take_energy(const WorkReply& reply);
  Status choose_by_energy(const std::string& missing);
  void request_timing(std::span<const OutcomeRecord> entries, std::optional<std::size_t> twice);
  // The work may take longer than the deadline of a variant, by the time of its launches.
  template <typename Work>
  void request(Work work, std::chrono::duration<double> launches);
  void skip(std::string what);

  SweepShared& shared_;
  const TunedView& view_;
  std::vector<OutcomeRecord> contenders_;
  const bool only_known_;

  std::optional<std::int64_t> request_;
  Step step_ = Step::together;
  std::vector<OutcomeRecord> entries_;
  std::string why_none_;   // the message of a final that was not complete
  std::size_t alone_ = 0;  // the place of the entry that runs alone
  std::vector<OutcomeRecord> culprits_;
  FinalRecord final_;
  FinalResult result_;
};

}  // namespace mgtune
