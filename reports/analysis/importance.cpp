#include "analysis/importance.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace mgtune {
namespace {

constexpr std::size_t kPairsOf = 8;  // the most important parameters
constexpr std::size_t kInteractions = 5;
constexpr double kSmallestInteraction = 0.005;

struct Group {
  std::int64_t count = 0;
  double sum = 0, squares = 0;

  void add(double x) {
    ++count;
    sum += x;
    squares += x * x;
  }
  double mean() const { return sum / static_cast<double>(count); }
  // Sum of squared distances from the mean.
  double scatter() const { return std::max(0.0, squares - sum * sum / static_cast<double>(count)); }
};

// How the variance of all values splits into groups.
struct Split {
  double within = 0;
  std::int64_t groups = 0;
};

Split split(const std::vector<Group>& groups) {
  Split split;
  for (const Group& group : groups) {
    if (group.count == 0) continue;
    split.within += group.scatter();
    ++split.groups;
  }
  return split;
}

// The adjusted share that these groups explain. Together they are all of `all`.
double explained(const std::vector<Group>& groups, const Group& all) {
  const Split parts = split(groups);
  const auto left = static_cast<double>(all.count - parts.groups);
  if (all.scatter() <= 0 || left <= 0) return 0;
  const double between = all.scatter() - parts.within;
  const double chance = static_cast<double>(parts.groups - 1) * parts.within / left;
  return std::clamp((between - chance) / all.scatter(), 0.0, 1.0);
}

std::uint64_t mixed(std::uint64_t x) {  // the finalizer of splitmix64
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

class DesignStatistics {
 public:
  // `log_time`: one per variant of the space. `rows`: the variants of the design that have a time.
  DesignStatistics(const SpaceColumns& space, std::size_t design, std::span<const double> log_time,
                   const std::vector<std::size_t>& rows)
      : space_(space), design_(design), log_time_(log_time), rows_(rows) {
    for (const std::size_t row : rows_) {
      all_.add(log_time_[row]);
      fastest_ = std::min(fastest_, log_time_[row]);
      slowest_ = std::max(slowest_, log_time_[row]);
    }
    hash_variants();
  }

  DesignImportance result() const {
    DesignImportance result{design_, all_.count, std::exp(slowest_ - fastest_), {}, {}};
    for (const std::size_t parameter : space_.designs[design_].parameters) {
      const std::vector<Group> groups = by_value(parameter);
      const auto values = std::ranges::count_if(groups, [](const Group& g) { return g.count > 0; });
      if (values < 2) continue;
      result.parameters.push_back({parameter, explained(groups, all_),
                                   total(parameter, static_cast<double>(values)),
                                   effects(parameter, groups)});
    }
    std::ranges::stable_sort(result.parameters, [](const auto& a, const auto& b) {
      return a.total.value_or(a.main) > b.total.value_or(b.main);
    });
    result.interactions = interactions(result.parameters);
    return result;
  }

 private:
  std::int32_t value(std::size_t parameter, std::size_t row) const {
    return space_.parameters[parameter].index[row];
  }
  static std::uint64_t hash_of(std::size_t parameter, std::int32_t value) {
    return mixed((std::uint64_t{parameter} << 32) | static_cast<std::uint32_t>(value));
  }

  // A sum of hashes, so that the hash of all parameters but one is a subtraction.
  void hash_variants() {
    hashes_.assign(rows_.size(), 0);
    for (const std::size_t parameter : space_.designs[design_].parameters) {
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        hashes_[i] += hash_of(parameter, value(parameter, rows_[i]));
      }
    }
  }

  std::vector<Group> by_value(std::size_t parameter) const {
    std::vector<Group> groups(space_.parameters[parameter].values.size());
    for (const std::size_t row : rows_) {
      groups[static_cast<std::size_t>(value(parameter, row))].add(log_time_[row]);
    }
    return groups;
  }

  // `values`: how many values occur in this design; other designs may have more.
  std::optional<double> total(std::size_t parameter, double values) const {
    std::unordered_map<std::uint64_t, Group> siblings(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      siblings[hashes_[i] - hash_of(parameter, value(parameter, rows_[i]))].add(
          log_time_[rows_[i]]);
    }
    double weight = 0, variance = 0;
    for (const auto& [hash, group] : siblings) {
      if (group.count < 2) continue;
      const auto n = static_cast<double>(group.count);
      weight += n;
      variance += n * group.scatter() / (n - 1) * (values - 1) / values;
    }
    const auto n = static_cast<double>(all_.count);
    if (weight < std::max(10.0, n / 10) || all_.scatter() <= 0) return std::nullopt;
    return std::min(1.0, variance / weight / (all_.scatter() / n));
  }

  std::vector<ValueEffect> effects(std::size_t parameter, const std::vector<Group>& groups) const {
    std::vector<double> fastest(groups.size(), HUGE_VAL);
    for (const std::size_t row : rows_) {
      double& best = fastest[static_cast<std::size_t>(value(parameter, row))];
      best = std::min(best, log_time_[row]);
    }
    const Split parts = split(groups);
    const double deviation = std::sqrt(
        parts.within / static_cast<double>(std::max<std::int64_t>(1, all_.count - parts.groups)));
    std::vector<ValueEffect> effects;
    for (std::size_t v = 0; v < groups.size(); ++v) {
      const Group& group = groups[v];
      if (group.count == 0) continue;
      const double shift = group.mean() - all_.mean();
      const double half = 1.96 * deviation / std::sqrt(static_cast<double>(group.count));
      effects.push_back({static_cast<std::int32_t>(v), group.count, std::exp(shift),
                         std::exp(shift - half), std::exp(shift + half),
                         std::exp(fastest[v] - fastest_)});
    }
    return effects;
  }

  // The share that the groups with equal a and b explain beyond those of a and of b, minus what
  // chance would explain: the variance within those groups, per additional degree of freedom of the
  // pair.
  double interaction(std::size_t a, std::size_t b) const {
    const std::size_t width = space_.parameters[b].values.size();
    std::vector<Group> groups(space_.parameters[a].values.size() * width);
    for (const std::size_t row : rows_) {
      const std::size_t at =
          static_cast<std::size_t>(value(a, row)) * width + static_cast<std::size_t>(value(b, row));
      groups[at].add(log_time_[row]);
    }
    const Split pair = split(groups);
    const Split one = split(by_value(a)), other = split(by_value(b));
    const double more = (one.within - pair.within) - (all_.scatter() - other.within);
    const auto freedom = static_cast<double>(pair.groups - one.groups - other.groups + 1);
    const auto left = static_cast<double>(all_.count - pair.groups);
    if (freedom <= 0 || left <= 0) return 0;
    return std::clamp((more - freedom * pair.within / left) / all_.scatter(), 0.0, 1.0);
  }

  std::vector<Interaction> interactions(const std::vector<ParameterImportance>& parameters) const {
    std::vector<Interaction> found;
    const std::size_t count = std::min(kPairsOf, parameters.size());
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        const std::size_t a = parameters[i].parameter, b = parameters[j].parameter;
        const double share = interaction(a, b);
        if (share > kSmallestInteraction) found.push_back({a, b, share});
      }
    }
    std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.share > b.share; });
    if (found.size() > kInteractions) found.resize(kInteractions);
    return found;
  }

  const SpaceColumns& space_;
  const std::size_t design_;
  const std::span<const double> log_time_;
  const std::vector<std::size_t>& rows_;
  Group all_;
  double fastest_ = HUGE_VAL, slowest_ = -HUGE_VAL;
  std::vector<std::uint64_t> hashes_;  // of all parameters of each row
};

}  // namespace

Importance importance(const SpaceColumns& space, std::span<const double> time_ns) {
  std::vector<double> log_time(time_ns.size());
  std::vector<std::vector<std::size_t>> rows(space.designs.size());
  std::vector<Group> designs(space.designs.size());
  Group all;
  for (std::size_t row = 0; row < time_ns.size(); ++row) {
    if (!(time_ns[row] > 0)) continue;
    log_time[row] = std::log(time_ns[row]);
    const auto design = static_cast<std::size_t>(space.design[row]);
    rows[design].push_back(row);
    designs[design].add(log_time[row]);
    all.add(log_time[row]);
  }
  Importance result;
  result.variants = all.count;
  if (std::ranges::count_if(designs, [](const Group& g) { return g.count > 0; }) > 1) {
    result.design_share = explained(designs, all);
  }
  for (std::size_t design = 0; design < rows.size(); ++design) {
    if (designs[design].count < kFewestForImportance || designs[design].scatter() <= 0) continue;
    DesignImportance found = DesignStatistics(space, design, log_time, rows[design]).result();
    if (!found.parameters.empty()) result.designs.push_back(std::move(found));
  }
  return result;
}

}  // namespace mgtune
