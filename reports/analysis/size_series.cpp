#include "analysis/size_series.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/text.h"
#include "core/variant_words.h"

namespace mgtune {
namespace {

constexpr std::string_view kBytes = "bytes";

std::optional<double> positive_number(std::string_view word) {
  const std::optional<std::int64_t> number = whole_number(word);
  return number && *number > 0 ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

// The picks of one GPU, operator and method.
using PickIndices = std::vector<std::size_t>;

SizeSeries empty_series(const ReportPick& pick, std::string_view dim,
                        std::vector<Assignment> fixed) {
  return {pick.view.gpu,
          pick.view.op,
          pick.view.tuned.method,
          std::string(dim),
          std::move(fixed),
          {},
          {}};
}

// Adds the series if it has two sizes.
void add_series(const ReportModel& model, SizeSeries series, std::vector<SizeSeries>& result) {
  if (series.points.size() < 2) return;
  std::ranges::stable_sort(series.points, {}, &SizePoint::size);
  if (series.points.front().size == series.points.back().size) return;
  for (std::size_t i = 1; i < series.points.size() && series.dim != kBytes; ++i) {
    const SizePoint& below = series.points[i - 1];
    const SizePoint& above = series.points[i];
    const std::string& one = model.picks[below.pick].view.tuned.variant;
    const std::string& other = model.picks[above.pick].view.tuned.variant;
    if (one == other) continue;
    series.boundaries.push_back({std::sqrt(below.size * above.size), one, other});
  }
  result.push_back(std::move(series));
}

// The picks whose problems differ in one number, for each number.
void add_by_dim(const ReportModel& model, const PickIndices& picks,
                std::vector<SizeSeries>& result) {
  std::map<std::pair<std::string, std::vector<Assignment>>, SizeSeries> slices;
  for (const std::size_t pick : picks) {
    const std::vector<Assignment> values = assignments(model.picks[pick].view.problem);
    for (std::size_t d = 0; d < values.size(); ++d) {
      const std::optional<double> size = positive_number(values[d].second);
      if (!size) continue;
      std::vector<Assignment> fixed = values;
      fixed.erase(fixed.begin() + static_cast<std::ptrdiff_t>(d));
      const SizeSeries empty = empty_series(model.picks[pick], values[d].first, fixed);
      const auto slice = slices.try_emplace({values[d].first, fixed}, empty).first;
      slice->second.points.push_back({pick, *size});
    }
  }
  for (auto& [key, series] : slices) add_series(model, std::move(series), result);
}

// All picks, by the bytes that must move.
void add_by_bytes(const ReportModel& model, const PickIndices& picks,
                  std::vector<SizeSeries>& result) {
  const ReportPick& first = model.picks[picks.front()];
  std::vector<Assignment> shared = assignments(first.view.problem);
  std::vector<SizePoint> points;
  for (const std::size_t pick : picks) {
    const std::vector<Assignment> values = assignments(model.picks[pick].view.problem);
    std::erase_if(shared, [&](const auto& value) {
      return std::ranges::find(values, value) == values.end();
    });
    const double bytes = model.picks[pick].view.bytes;
    if (bytes > 0) points.push_back({pick, bytes});
  }
  SizeSeries series = empty_series(first, kBytes, std::move(shared));
  series.points = std::move(points);
  add_series(model, std::move(series), result);
}

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
  for (const auto& [key, picks] : groups) {
    add_by_dim(model, picks, result);
    add_by_bytes(model, picks, result);
  }
  return result;
}

}  // namespace mgtune
