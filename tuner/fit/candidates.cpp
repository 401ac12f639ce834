#include "fit/candidates.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "fit/estimated_losses.h"
#include "fit/representatives.h"
#include "selection/rules.h"

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

Candidates choose_candidates(const FitData& data, std::size_t count, std::size_t per_problem) {
  const LossTable estimated = estimated_losses(data);
  std::vector<std::size_t> all(data.problems.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::size_t> chosen = choose_representatives(data.table, all, kMaxRuleVariants);
  const std::size_t named = chosen.size();
  for (const std::size_t v : choose_representatives(estimated, all, count)) {
    if (std::ranges::find(chosen, v) == chosen.end()) chosen.push_back(v);
  }
  Candidates candidates;
  for (const std::size_t v : chosen) candidates.patterns.push_back(data.patterns[v]);
  for (const std::size_t p : all) {
    std::vector<std::size_t>& places = candidates.promising[data.problems[p].text()];
    for (std::size_t place = 0; place < chosen.size(); ++place) {
      const std::size_t v = chosen[place];
      const bool is_timed = data.timed[p * estimated.variants + v];
      if (!is_timed && estimated.serves(p, v)) places.push_back(place);
    }
    std::ranges::stable_sort(places, {}, [&](std::size_t place) {
      return std::pair(place >= named, estimated.loss(p, chosen[place]));
    });
    places.resize(std::min(places.size(), per_problem));
  }
  return candidates;
}

}  // namespace mgtune
