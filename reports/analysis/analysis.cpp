#include "analysis/analysis.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "store/import.h"
#include "text/units.h"

namespace mgtune {
namespace {

// The sweeps that evaluated every variant: their rows were not chosen by a search.
std::set<std::int64_t> complete_sweeps(const ReportModel& model) {
  std::set<std::int64_t> sweeps;
  for (const SweepView& view : model.sweeps) {
    const bool complete = view.sweep.strategy == "exhaustive" && view.sweep.budget.empty();
    if (complete || view.sweep.strategy == kImportStrategy) sweeps.insert(view.sweep.id);
  }
  return sweeps;
}

// The rows of one method.
struct Timed {
  std::vector<double> time_ns;  // one per variant of the problem; 0: none by this method
  std::int64_t count = 0, stopped = 0, chosen = 0;
};

std::string note(const Timed& timed) {
  std::string text;
  if (timed.chosen > 0) {
    text = fmt::format(
        "Taken from {} that a sweep chose, which looks longer where kernels are fast: the shares "
        "say more about that corner than about the whole space.",
        counted(timed.count, "variant"));
  }
  if (timed.stopped > 0) {
    text += fmt::format(
        "{}{} stopped early as clearly slower; the time they had until then counts.",
        text.empty() ? "" : " ",
        timed.stopped == 1 ? "1 variant was" : fmt::format("{} variants were", timed.stopped));
  }
  return text;
}

void add_importance(const ReportModel& model, std::size_t p, const std::set<std::int64_t>& complete,
                    ReportAnalysis& analysis) {
  const auto variants = model.variants_of(model.problems[p]);
  std::map<std::string, Timed> methods;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const OutcomeView& view = variants[i].view;
    const std::optional<double> time_ns = median_ns(view);
    if (!time_ns || is_failure(view.outcome)) continue;
    Timed& timed = methods[view.measurement->method];
    timed.time_ns.resize(variants.size());
    timed.time_ns[i] = *time_ns;
    ++timed.count;
    timed.stopped += view.outcome == Outcome::raced_out ? 1 : 0;
    timed.chosen += complete.contains(view.sweep) ? 0 : 1;
  }
  for (const auto& [method, timed] : methods) {
    Importance found = importance(analysis.spaces[p], timed.time_ns);
    if (found.designs.empty()) continue;
    analysis.importance.push_back({p, method, std::move(found), note(timed)});
  }
}

}  // namespace

ReportAnalysis analyze(const ReportModel& model) {
  ReportAnalysis analysis;
  const std::set<std::int64_t> complete = complete_sweeps(model);
  for (std::size_t p = 0; p < model.problems.size(); ++p) {
    analysis.spaces.push_back(space_columns(model.variants_of(model.problems[p])));
    add_importance(model, p, complete, analysis);
  }
  analysis.best_so_far = best_so_far(model);
  analysis.sizes = size_series(model);
  return analysis;
}

}  // namespace mgtune
