#include "plan/shard_cut.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "plan/variant_cost.h"
#include "space/space_part.h"

namespace mgtune {
namespace {

// A shorter piece of a space is a rounding error.
constexpr double kNothing = 1e-9;

// The place of a variant in its group. The default comes first; then the variants of every design
// are spread evenly.
struct CutPlace {
  double position = -1;
  std::uint64_t index = 0;
  auto operator<=>(const CutPlace&) const = default;  // NOLINT(modernize-use-nullptr)
};

// The admissible points of a problem, by design.
std::vector<std::vector<std::uint64_t>> list_points(const Space& space) {
  std::vector<std::vector<std::uint64_t>> points(space.design_count());
  space.for_each([&](const Variant& variant) {
    points[static_cast<std::size_t>(variant.design)].push_back(space.index(variant));
    return true;
  });
  return points;
}

// `of` whole things are distributed evenly over a line of `count` items. Returns how many of them
// are in the items [first, last).
std::int64_t portion(std::int64_t of, std::size_t first, std::size_t last, std::size_t count) {
  const auto until = [&](std::size_t end) {
    return std::ceil(static_cast<double>(of) * static_cast<double>(end) /
                     static_cast<double>(count));
  };
  return static_cast<std::int64_t>(until(last) - until(first));
}

// The hash below which this share of all hashes lies.
std::uint64_t hash_at(double share) {
  constexpr double kHashes = 0x1.0p64;
  return share >= 1 ? std::numeric_limits<std::uint64_t>::max()
                    : static_cast<std::uint64_t>(share * kHashes);
}

}  // namespace

Result<ShardCut> ShardCut::make(std::vector<PlannedProblem> problems, DeviceKind device,
                                std::optional<std::int64_t> evaluations, std::int64_t compilers) {
  ShardCut cut;
  cut.problems_ = std::move(problems);
  cut.evaluations_ = evaluations;
  std::vector<std::vector<std::size_t>> groups;  // in the order of their first problems
  std::map<std::pair<const Operator*, std::string>, std::size_t> known;
  for (std::size_t i = 0; i < cut.problems_.size(); ++i) {
    const PlannedProblem& planned = cut.problems_[i];
    if (!planned.counted) {
      cut.uncounted_.push_back(i);
      continue;
    }
    const std::pair key(planned.problem.op, planned.problem.binding().text());
    const auto [group, is_new] = known.emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[group->second].push_back(i);
  }
  for (const std::vector<std::size_t>& group : groups)
    MGTUNE_TRY(cut.add_group(group, device, compilers));
  for (const Item& item : cut.items_) cut.seconds_ += item.seconds;
  return cut;
}

Status ShardCut::add_group(const std::vector<std::size_t>& group, DeviceKind device,
                           std::int64_t compilers) {
  std::map<std::uint64_t, std::vector<std::size_t>> problems_of;  // by point
  std::map<std::uint64_t, CutPlace> places;
  std::vector<std::vector<std::uint64_t>> of_designs;
  for (const std::size_t problem : group) {
    std::vector<std::vector<std::uint64_t>> points = list_points(problems_[problem].space);
    of_designs.resize(points.size());
    for (std::size_t design = 0; design < points.size(); ++design) {
      for (const std::uint64_t index : points[design]) {
        std::vector<std::size_t>& problems = problems_of[index];
        if (problems.empty()) of_designs[design].push_back(index);
        problems.push_back(problem);
      }
    }
  }
  for (std::vector<std::uint64_t>& points : of_designs) {
    std::ranges::sort(points, {}, scattered);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double position = (static_cast<double>(i) + 0.5) / static_cast<double>(points.size());
      places[points[i]] = {position, points[i]};
    }
  }
  std::vector<double> measure_seconds(group.size()), shares(group.size(), 1);
  double compile_seconds = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const PlannedProblem& planned = problems_[group[i]];
    MGTUNE_ASSIGN(const VariantCost cost, estimated_cost(planned.problem, device));
    measure_seconds[i] = cost.measure_seconds;
    compile_seconds = cost.compile_seconds / static_cast<double>(compilers);
    if (evaluations_.has_value() && planned.admissible > 0) {
      shares[i] = std::min(
          1.0, static_cast<double>(*evaluations_) / static_cast<double>(planned.admissible));
    }
    const std::vector<Variant> ladder = planned.space.ladder();
    if (ladder.empty()) continue;
    const auto place = places.find(planned.space.index(ladder.front()));
    if (place != places.end()) place->second.position = -1;
  }
  std::vector<CutPlace> order;
  order.reserve(places.size());
  for (const auto& [index, place] : places) order.push_back(place);
  std::ranges::sort(order);
  for (const CutPlace& place : order) {
    double compile = compile_seconds;
    for (const std::size_t problem : problems_of[place.index]) {
      const auto i = static_cast<std::size_t>(std::ranges::find(group, problem) - group.begin());
      items_.push_back(
          {problem, place.index, shares[i] * (measure_seconds[i] + std::exchange(compile, 0))});
    }
  }
  return {};
}

template <typename Visit>
void ShardCut::for_each_item(std::int64_t pieces, const Visit& visit) const {
  const double length = seconds_ / static_cast<double>(pieces);
  double start = 0;
  for (const Item& item : items_) {
    // A variant belongs to the piece in which its middle lies, so at each end a piece is longer by
    // at most half a variant.
    const auto piece = static_cast<std::int64_t>((start + item.seconds / 2) / length);
    start += item.seconds;
    visit(std::min(piece, pieces - 1), item);
  }
}

double ShardCut::seconds_of(const Shard& shard) const {
  double seconds = 0;
  for_each_item(shard.count, [&](std::int64_t piece, const Item& item) {
    if (piece == shard.index - 1) seconds += item.seconds;
  });
  return seconds;
}

std::int64_t ShardCut::visits(std::int64_t shards) const {
  std::int64_t visits = 0;
  for (const PlannedProblem& planned : problems_) {
    const auto all = static_cast<std::int64_t>(planned.admissible);
    visits += std::min(all, evaluations_.value_or(all));
  }
  std::map<std::size_t, std::int64_t> last;  // the shard that had the problem last
  for_each_item(shards, [&](std::int64_t piece, const Item& item) {
    const auto [before, is_first] = last.emplace(item.problem, piece);
    if (!is_first && std::exchange(before->second, piece) != piece) ++visits;
  });
  return visits;
}

std::vector<PlannedProblem> ShardCut::problems_of(const Shard& shard) const {
  std::map<std::size_t, Listed> listed;
  for_each_item(shard.count, [&](std::int64_t piece, const Item& item) {
    Listed& of_problem = listed[item.problem];
    if (piece < shard.index - 1) ++of_problem.before;
    if (piece == shard.index - 1) of_problem.indices.push_back(item.index);
  });
  std::vector<PlannedProblem> problems;
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    const PlannedProblem& planned = problems_[i];
    std::optional<PlannedProblem> part;
    if (!planned.is_served()) {
      if (shard.index == 1) part = planned;
    } else if (planned.counted) {
      part = listed_part(planned, std::move(listed[i]));
    } else {
      const auto place = std::ranges::find(uncounted_, i) - uncounted_.begin();
      part = hashed_part(planned, static_cast<double>(place), shard);
    }
    if (part.has_value()) problems.push_back(*std::move(part));
  }
  return problems;
}

std::optional<PlannedProblem> ShardCut::listed_part(const PlannedProblem& planned,
                                                    Listed own) const {
  const auto all = static_cast<std::size_t>(planned.admissible);
  if (own.indices.empty()) return std::nullopt;
  PlannedProblem part = planned;
  if (own.indices.size() == all) return part;
  part.admissible = own.indices.size();
  if (evaluations_.has_value()) {
    const std::int64_t limit = std::min(*evaluations_, static_cast<std::int64_t>(all));
    part.evaluations = portion(limit, own.before, own.before + own.indices.size(), all);
    if (*part.evaluations == 0) return std::nullopt;
  }
  std::ranges::sort(own.indices);
  const std::vector<Variant> ladder = planned.space.ladder();
  if (!ladder.empty() &&
      !std::ranges::binary_search(own.indices, planned.space.index(ladder.front()))) {
    ++part.admissible;
    if (part.evaluations.has_value()) ++*part.evaluations;
  }
  part.part.emplace(planned.space, std::move(own.indices));
  return part;
}

std::optional<PlannedProblem> ShardCut::hashed_part(const PlannedProblem& planned, double place,
                                                    const Shard& shard) const {
  const double length = static_cast<double>(uncounted_.size()) / static_cast<double>(shard.count);
  const double first = length * static_cast<double>(shard.index - 1) - place;
  const double from = std::max(0.0, first);
  const double to = std::min(1.0, first + length);
  if (to - from < kNothing) return std::nullopt;
  PlannedProblem part = planned;
  if (to - from > 1 - kNothing) return part;
  part.admissible =
      static_cast<std::uint64_t>(static_cast<double>(planned.admissible) * (to - from));
  if (evaluations_.has_value()) {
    const auto share = std::llround(static_cast<double>(*evaluations_) * (to - from));
    part.evaluations = std::max<std::int64_t>(1, share);
  }
  part.part.emplace(planned.space, hash_at(from), to < 1 ? hash_at(to) - 1 : hash_at(1));
  return part;
}

}  // namespace mgtune
