#include "analysis/size_series.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "model/assignments.h"

namespace mgtune {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kBytes = "bytes";

std::optional<double> positive_number(std::string_view word) {
  const std::optional<std::int64_t> number = whole_number(word);
  return number && *number > 0 ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

Values values_of(const ReportPick& pick) {
  Values values;
  for (const auto& [name, value] : assignments(pick.view.problem)) {
    values.emplace_back(std::string(name), std::string(value));
  }
  return values;
}

// The picks of one GPU, operator and method.
using PickIndices = std::vector<std::size_t>;

class Slices {
 public:
  Slices(const ReportModel& model, const PickIndices& picks) : model_(model), picks_(picks) {}

  void add_to(std::vector<SizeSeries>& result) {
    add_by_dim();
    for (auto& [key, series] : slices_) finish(std::move(series), result);
    finish(by_bytes(), result);
  }

 private:
  SizeSeries empty_series(std::string dim, Values fixed) const {
    const ReportPick& first = model_.picks[picks_.front()];
    return {first.view.gpu,
            first.view.op,
            first.view.tuned.method,
            std::move(dim),
            std::move(fixed),
            {},
            {}};
  }

  void add_by_dim() {
    for (const std::size_t pick : picks_) {
      const Values values = values_of(model_.picks[pick]);
      for (std::size_t d = 0; d < values.size(); ++d) {
        const std::optional<double> size = positive_number(values[d].second);
        if (!size) continue;
        Values fixed = values;
        fixed.erase(fixed.begin() + static_cast<std::ptrdiff_t>(d));
        const auto [slice, is_new] =
            slices_.try_emplace({values[d].first, fixed}, empty_series(values[d].first, fixed));
        slice->second.points.push_back({pick, *size});
      }
    }
  }

  SizeSeries by_bytes() const {
    Values shared = values_of(model_.picks[picks_.front()]);
    for (const std::size_t pick : picks_) {
      const Values values = values_of(model_.picks[pick]);
      std::erase_if(shared, [&](const auto& value) {
        return std::ranges::find(values, value) == values.end();
      });
    }
    SizeSeries series = empty_series(std::string(kBytes), std::move(shared));
    for (const std::size_t pick : picks_) {
      const double bytes = model_.picks[pick].view.bytes;
      if (bytes > 0) series.points.push_back({pick, bytes});
    }
    return series;
  }

  void finish(SizeSeries series, std::vector<SizeSeries>& result) const {
    if (series.points.size() < 2) return;
    std::ranges::stable_sort(series.points, {}, &SizePoint::size);
    if (series.points.front().size == series.points.back().size) return;
    for (std::size_t i = 1; i < series.points.size() && series.dim != kBytes; ++i) {
      const SizePoint& below = series.points[i - 1];
      const SizePoint& above = series.points[i];
      const std::string& one = model_.picks[below.pick].view.tuned.variant;
      const std::string& other = model_.picks[above.pick].view.tuned.variant;
      if (one != other) {
        series.boundaries.push_back({std::sqrt(below.size * above.size), one, other});
      }
    }
    result.push_back(std::move(series));
  }

  const ReportModel& model_;
  const PickIndices& picks_;
  std::map<std::pair<std::string, Values>, SizeSeries> slices_;
};

}  // namespace

std::vector<SizeSeries> size_series(const ReportModel& model) {
  std::vector<std::pair<std::tuple<std::int64_t, std::string, std::string>, PickIndices>> groups;
  for (std::size_t i = 0; i < model.picks.size(); ++i) {
    const ReportPick& pick = model.picks[i];
    if (pick.view.tuned.median_ns <= 0) continue;
    const std::tuple key{pick.view.tuned.gpu, pick.view.op, pick.view.tuned.method};
    const auto known = std::ranges::find_if(groups, [&](const auto& g) { return g.first == key; });
    if (known != groups.end()) {
      known->second.push_back(i);
    } else {
      groups.push_back({key, {i}});
    }
  }
  std::vector<SizeSeries> result;
  for (const auto& [key, picks] : groups) Slices(model, picks).add_to(result);
  return result;
}

}  // namespace mgtune
