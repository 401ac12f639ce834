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
  // final failed for another reason (the summary has the reason). Then the caller decides by the
  // single measurements of the contenders that were not expelled.
  std::optional<Pick> pick;
  // The contenders that crashed, hung or could not be launched in the final, and again in a run of
  // their own, and those with the same code. They have this outcome now, although they had passed
  // their checks and been measured before. The final was held without them.
  std::vector<OutcomeRecord> expelled;
};

// The contenders that a final is held among: the fastest ones and the default.
std::vector<OutcomeRecord> choose_finalists(const SweepShared& shared, const TunedView& view,
                                            std::span<const OutcomeRecord> contenders);

// Final: hands one request after the other to the measure pool, and waits for none of them: the
// caller passes the replies. All entries of a request are timed on one GPU, whichever is free
// first. If an entry crashes, hangs or cannot be launched, each one runs alone. Those that fail
// again are expelled, and the final is held again with the others. With --counters, the hardware
// counters of the finalists are read too; the call waits for these. One thread.
class Final {
 public:
  // Each contender has a measurement. `view` has the problem's default and the timing method. If
  // `only_known`, nothing is timed: only a final that the store has between the same entries
  // counts. `shared` and `view` must outlive the object.
  Final(SweepShared& shared, const TunedView& view, std::vector<OutcomeRecord> contenders,
        bool only_known);

  // Once, before all others. A failure of this or of take() is one of the store.
  Status begin();

  // The request whose reply it waits for; nullopt when the result is there.
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
  // The work may take as long as its launches do beyond the deadline of a variant.
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
