#include "fit/candidates.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "fit/choices.h"
#include "fit/representatives.h"

namespace mgtune {

std::vector<const VariantPattern*> Candidates::at(const Problem& problem) const {
  std::vector<const VariantPattern*> here;
  const auto known = promising.find(problem.text());
  if (known == promising.end()) {
    for (const VariantPattern& pattern : patterns) here.push_back(&pattern);
  } else {
    for (const std::size_t place : known->second) here.push_back(&patterns[place]);
  }
  return here;
}

Candidates choose_candidates(const FitData& given, std::size_t count, std::size_t per_problem) {
  FitData data = given;
  std::vector<Problem> problems;
  for (const MeasuredLosses& measured : data.measured) problems.push_back(measured.problem);
  remove_failed(data, problems);
  std::vector<ProblemChoices> choices;
  for (std::size_t p = 0; p < data.measured.size(); ++p) choices.push_back(choices_at(data, p));
  const LossTable estimated = table_of(choices, estimates_of(data));
  std::vector<std::size_t> all(choices.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::vector<std::size_t> chosen = choose_representatives(estimated, all, count);
  Candidates candidates;
  for (const std::size_t v : chosen) candidates.patterns.push_back(data.patterns[v]);
  for (const std::size_t p : all) {
    const ProblemChoices& here = choices[p];
    std::vector<std::size_t>& places = candidates.promising[here.problem.text()];
    for (std::size_t place = 0; place < chosen.size(); ++place) {
      const std::optional<std::size_t> serving = here.of_pattern[chosen[place]];
      if (serving && !here.measured[*serving]) places.push_back(place);
    }
    std::ranges::stable_sort(places, {},
                             [&](std::size_t place) { return estimated.loss(p, chosen[place]); });
    places.resize(std::min(places.size(), per_problem));
  }
  return candidates;
}

}  // namespace mgtune
