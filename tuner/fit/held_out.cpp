#include "fit/held_out.h"

#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "fit/choices.h"
#include "fit/loss_table.h"
#include "selection/gpu_similarity.h"

namespace mgtune {
namespace {

constexpr double kLossOfFailed = 1;

// Adds the measurements of the problems that are not in `known`, with the numbers of `to`.
void add_measurements(const FitData& from, const std::set<std::string>& known, FitData& to) {
  for (std::size_t p = 0; p < from.measured.size(); ++p) {
    MeasuredLosses measured = from.measured[p];
    if (known.contains(measured.problem.text())) continue;
    for (MeasuredLosses::One& one : measured.losses) {
      one.variant.number = to.variants->add(from.variants->at(one.variant.number));
    }
    to.measured.push_back(std::move(measured));
    to.without_time.push_back(from.without_time[p]);
  }
  to.failed.insert(from.failed.begin(), from.failed.end());
}

std::set<std::string> problems_of(const FitData& data) {
  std::set<std::string> texts;
  for (const MeasuredLosses& measured : data.measured) texts.insert(measured.problem.text());
  return texts;
}

// The measurements of both, first those that were searched. The patterns are those of the rules.
FitData together(const FitData& fitted, const FitData& searched, const Rules& rules) {
  FitData all;
  all.op = searched.op;
  all.gpu = searched.gpu;
  all.patterns = rules.variants;
  all.variants = std::make_shared<NearVariants>(*searched.op);
  add_measurements(searched, {}, all);
  add_measurements(fitted, problems_of(searched), all);
  all.variants->close();
  return all;
}

}  // namespace

Result<HeldOut> held_out_losses(const FitData& fitted, const FitData& searched,
                                const Rules& rules) {
  const std::set<std::string> known = problems_of(fitted);
  const DeviceLimits limits = device_of(searched.gpu).limits;
  const RuleNames names(*searched.op);
  const FitData all = together(fitted, searched, rules);
  std::vector<ProblemChoices> choices;  // at the held-out problems
  for (std::size_t p = 0; p < searched.measured.size(); ++p) {
    if (!known.contains(searched.measured[p].problem.text())) choices.push_back(choices_at(all, p));
  }
  if (choices.empty()) {
    return invalid_argument("--held-out: every problem of " + searched.op->full_name() +
                            " in this database is one that the rules are fitted to; sweep others, "
                            "for example with 'mgtune sweep --for-rules N --seed 2'");
  }
  const LossTable table = table_of(choices, estimates_of(all));
  HeldOut found;
  std::vector<double> of_rules;
  for (std::size_t p = 0; p < choices.size(); ++p) {
    const ProblemChoices& here = choices[p];
    double loss = table.ladder[p];
    std::optional<std::size_t> chosen = here.of_ladder;
    for (const std::size_t place :
         rules.leaf_of(names.values(here.problem, limits, rules.bytes_per_us)).ranking) {
      if (!here.of_pattern[place]) continue;
      loss = table.loss(p, place);
      chosen = here.of_pattern[place];
      break;
    }
    const bool has_failed = chosen && all.failed.contains(variant_text(
                                          *all.op, all.variants->at(here.serving[*chosen].number)));
    if (has_failed) loss = kLossOfFailed;
    if (!has_failed && !has_time(here, chosen)) ++found.estimated;
    if (!has_time(here, here.of_ladder)) ++found.ladder_estimated;
    found.problems.push_back({here.problem.text(), loss, table.ladder[p]});
    of_rules.push_back(loss);
  }
  found.rules = summary_of(std::move(of_rules));
  found.ladder = summary_of({table.ladder.begin(), table.ladder.end()});
  return found;
}

}  // namespace mgtune
