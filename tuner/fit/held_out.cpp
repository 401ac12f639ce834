#include "fit/held_out.h"

#include <optional>
#include <set>

#include "fit/choices.h"
#include "fit/loss_table.h"
#include "selection/gpu_similarity.h"

namespace mgtune {
namespace {

// The measurements of both, with the numbers of one set of variants. It has the patterns that the
// rules name.
FitData together(const FitData& fitted, const FitData& searched, const Rules& rules) {
  FitData all;
  all.op = searched.op;
  all.gpu = searched.gpu;
  all.patterns = rules.variants;
  all.failed = searched.failed;
  all.variants = std::make_shared<NearVariants>(*searched.op);
  for (const FitData* const part : {&searched, &fitted}) {
    for (MeasuredLosses measured : part->measured) {
      for (MeasuredLosses::One& one : measured.losses) {
        one.variant.number = all.variants->add(part->variants->at(one.variant.number));
      }
      all.measured.push_back(std::move(measured));
      all.without_time.emplace_back();
    }
  }
  all.variants->close();
  return all;
}

}  // namespace

Result<HeldOut> held_out_losses(const FitData& fitted, const FitData& searched,
                                const Rules& rules) {
  std::set<std::string> known;
  for (const MeasuredLosses& measured : fitted.measured) known.insert(measured.problem.text());
  const DeviceLimits limits = device_of(searched.gpu).limits;
  const RuleNames names(*searched.op);
  const FitData all = together(fitted, searched, rules);
  std::vector<Choices> choices;  // at the held-out problems
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
    const Choices& here = choices[p];
    const std::vector<std::size_t>& ranking =
        rules.leaf_of(names.values(here.problem, limits, rules.bytes_per_us)).ranking;
    const double loss = loss_of_ranking(table, p, ranking);
    std::optional<std::size_t> chosen = here.of_ladder;
    const bool has_ladder_time = chosen && here.measured[*chosen];
    for (const std::size_t place : ranking) {
      if (!here.of_pattern[place]) continue;
      chosen = here.of_pattern[place];
      break;
    }
    if (!chosen || !here.measured[*chosen]) ++found.estimated;
    if (!has_ladder_time) ++found.estimated_of_ladder;
    found.problems.push_back({here.problem.text(), loss, table.ladder[p]});
    of_rules.push_back(loss);
  }
  found.rules = summary_of(std::move(of_rules));
  found.ladder = summary_of({table.ladder.begin(), table.ladder.end()});
  return found;
}

}  // namespace mgtune
