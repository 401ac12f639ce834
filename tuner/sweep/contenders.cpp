#include "sweep/contenders.h"

#include <algorithm>
#include <utility>

#include "final/pick.h"
#include "final/sustained.h"

namespace mgtune {

void Contenders::recall(const VariantState& state) {
  all_.emplace(state.variant, state);
  see_clock(state);
}

void Contenders::add(const VariantState& state) {
  all_.insert_or_assign(state.variant, state);
  counted_.insert(state.variant);
  see_clock(state);
}

void Contenders::see_clock(const VariantState& state) {
  if (compared_mhz_ > 0 || !follows_clock(view_, shared_.device.kind)) return;
  compared_mhz_ = state.measurement->clocks.sm_mhz;
}

double Contenders::compared_ns(const MeasurementRecord& measurement) const {
  return measurement.median_ns * factor_to_clock(measurement.clocks, compared_mhz_);
}

const VariantState* Contenders::best() const {
  const auto best = std::ranges::min_element(all_, {}, [this](const auto& contender) {
    return compared_ns(*contender.second.measurement);
  });
  return best == all_.end() ? nullptr : &best->second;
}

const VariantState* Contenders::of_default() const {
  const auto found = all_.find(view_.tuned.default_variant);
  return found == all_.end() ? nullptr : &found->second;
}

std::vector<OutcomeRecord> Contenders::records() const {
  std::vector<OutcomeRecord> records;
  records.reserve(all_.size());
  for (const auto& [variant, state] : all_) {
    MeasurementRecord& measurement = *records.emplace_back(state).measurement;
    const double factor = factor_to_clock(measurement.clocks, compared_mhz_);
    for (double* time : {&measurement.median_ns, &measurement.q1_ns, &measurement.q3_ns}) {
      *time *= factor;
    }
  }
  return records;
}

std::optional<Pick> Contenders::pick_by_measurements() const {
  std::optional<Pick> pick = pick_winner(records(), view_.tuned.default_variant);
  if (!pick) return pick;
  const MeasurementRecord& measured = *all_.at(pick->winner.variant).measurement;
  pick->default_median_ns *= measured.median_ns / pick->winner.measurement->median_ns;
  pick->winner.measurement = measured;
  return pick;
}

std::vector<OutcomeRecord> Contenders::finalists() const {
  return choose_finalists(shared_, view_, records());
}

Status Contenders::begin_pick(Finals finals, bool has_results) {
  // A variant that failed at another problem is never run on this GPU, so it cannot be the pick.
  MGTUNE_ASSIGN(const FailedVariants failed, read_failed_variants(shared_, view_));
  std::erase_if(all_, [&](const auto& contender) {
    return failed.find(view_.gpu, view_.op, contender.first).has_value();
  });
  has_results_ = has_results;
  // Shards that share a problem have their final when they are merged (`mgtune sweep --finals`).
  if (planned_.part.has_value() || shared_.options.for_rules) return finish({});
  final_.emplace(shared_, view_, records(), finals == Finals::known);
  final_began_ = std::chrono::steady_clock::now();
  final_seconds_ = 0;
  MGTUNE_TRY(final_->begin());
  if (final_->awaits()) {
    MGTUNE_TRY(record_first_pick(shared_, pick_by_measurements(), view_));
  }
  return move_on();
}

Result<bool> Contenders::pick_has_failed() const {
  MGTUNE_ASSIGN(const FailedVariants failed, read_failed_variants(shared_, view_));
  return failed.find(view_.gpu, view_.op, view_.tuned.variant).has_value();
}

Status Contenders::take(const WorkReply& reply) {
  MGTUNE_TRY(final_->take(reply));
  final_seconds_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - final_began_).count();
  return move_on();
}

Status Contenders::move_on() {
  if (final_->awaits()) return {};
  FinalResult result = final_->take_result();
  final_.reset();
  return finish(std::move(result));
}

Status Contenders::finish(FinalResult result) {
  for (const OutcomeRecord& culprit : result.expelled) MGTUNE_TRY(expel(culprit));
  if (!result.pick.has_value()) {
    result.pick = pick_by_measurements();
  }
  // A pick of an earlier sweep would be among the contenders if it still held.
  if (!result.pick.has_value() && !has_results_) return {};
  return record_pick(shared_, result.pick, view_);
}

// The variant's newest row and measurement say what it did in the final, so it no longer contends.
Status Contenders::expel(const OutcomeRecord& culprit) {
  VariantState state = std::move(all_.extract(culprit.variant).mapped());
  WorkReply reply;
  reply.outcome = culprit.outcome;
  reply.message = culprit.message;
  reply.check = state.check;
  results_.add_measurement(state, reply);
  std::map<Outcome, std::int64_t>& outcomes = shared_.summary.outcomes;
  const bool was_counted = counted_.contains(culprit.variant);
  if (was_counted && --outcomes[Outcome::ok] == 0) outcomes.erase(Outcome::ok);
  ++outcomes[state.outcome];
  MGTUNE_TRY(shared_.journal.add(state));
  return shared_.journal.write();
}

}  // namespace mgtune
