#include "fit/held_out.h"

#include <optional>
#include <set>

#include "selection/admission.h"
#include "selection/gpu_similarity.h"

namespace mgtune {

Result<HeldOut> held_out_losses(const FitData& fitted, const FitData& searched,
                                const Rules& rules) {
  std::set<std::string> known;
  for (const Problem& problem : fitted.problems) known.insert(problem.text());
  const DeviceLimits limits = device_of(searched.gpu).limits;
  const RuleNames names(*searched.op);
  HeldOut found;
  std::vector<double> of_rules, of_ladder;
  for (std::size_t p = 0; p < searched.problems.size(); ++p) {
    const Problem& problem = searched.problems[p];
    if (known.contains(problem.text())) continue;
    double loss = searched.table.ladder[p];
    for (const std::size_t place :
         rules.leaf_of(names.values(problem, limits, rules.bytes_per_us)).ranking) {
      const std::optional<Variant> variant =
          variant_of(rules.variants[place], problem.binding(), limits);
      if (!variant || !may_serve(problem, *variant, limits)) continue;
      const auto at = searched.measured[p].find(variant_text(*searched.op, *variant));
      const bool has_time = at != searched.measured[p].end();
      if (!has_time) ++found.unmeasured;
      loss = has_time ? at->second : kUnmeasuredLoss;
      break;
    }
    found.problems.push_back({problem.text(), loss, searched.table.ladder[p]});
    of_rules.push_back(loss);
    of_ladder.push_back(searched.table.ladder[p]);
  }
  if (found.problems.empty()) {
    return invalid_argument("--held-out: every problem of " + searched.op->full_name() +
                            " in this database is one that the rules are fitted to; sweep others, "
                            "for example with 'mgtune sweep --for-rules N --seed 2'");
  }
  found.rules = summary_of(std::move(of_rules));
  found.ladder = summary_of(std::move(of_ladder));
  return found;
}

}  // namespace mgtune
