#include "selection/evidence.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace mgtune {
namespace {

constexpr double kShortNs = 20'000;
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// The order: methods that resemble programs come before those that rank variants best.
constexpr std::array<std::string_view, 6> kMethods = {
    "rotating", "rotating_events", "graph", "cold", "hot", "emulation"};

std::size_t method_rank(const std::string& method, double fastest_ns) {
  if (method == "graph" && fastest_ns < kShortNs) return 0;
  const auto found = std::find(kMethods.begin(), kMethods.end(), method);
  return 1 + static_cast<std::size_t>(found - kMethods.begin());
}

Result<Problem> decode_problem(const Operator& op, const std::string& text) {
  MGTUNE_ASSIGN(const auto words, parse_assignments(text));
  return bind_problem(op, words);
}

// For each list of MeasuredRows, where its entries went in the evidence; kNone: left out.
struct Places {
  std::vector<std::uint32_t> problems, variants;
};

Places decode_lists(const Operator& op, const MeasuredRows& from, Evidence& to) {
  Places places;
  for (const MeasuredRows::ProblemText& text : from.problems) {
    places.problems.push_back(kNone);
    if (text.op != op.full_name()) continue;
    Result<Problem> problem = decode_problem(op, text.text);
    if (!problem.ok()) continue;
    places.problems.back() = static_cast<std::uint32_t>(to.problems.size());
    to.problems.push_back(*std::move(problem));
  }
  places.variants.assign(from.variants.size(), kNone);
  std::vector<bool> of_op(from.variants.size(), false);
  for (const MeasuredRows::Row& row : from.rows) {
    if (places.problems[row.problem] != kNone) of_op[row.variant] = true;
  }
  for (std::size_t i = 0; i < of_op.size(); ++i) {
    if (!of_op[i]) continue;
    Result<Variant> variant = parse_variant(op, from.variants[i]);
    if (!variant.ok()) continue;
    places.variants[i] = static_cast<std::uint32_t>(to.variants.size());
    to.variants.push_back(*std::move(variant));
  }
  return places;
}

using GpuProblem = std::pair<std::uint32_t, std::uint32_t>;

// The method that counts, for every problem and GPU that has times.
std::map<GpuProblem, std::uint32_t> counted_methods(const MeasuredRows& measured) {
  std::map<GpuProblem, std::map<std::uint32_t, double>> fastest;
  for (const MeasuredRows::Row& row : measured.rows) {
    if (row.method == 0) continue;
    double& time =
        fastest[{row.gpu, row.problem}].try_emplace(row.method, row.median_ns).first->second;
    time = std::min(time, row.median_ns);
  }
  std::map<GpuProblem, std::uint32_t> counted;
  for (const auto& [key, of_methods] : fastest) {
    const auto rank = [&](const auto& entry) {
      return method_rank(measured.methods[entry.first], entry.second);
    };
    counted[key] = std::ranges::min_element(of_methods, {}, rank)->first;
  }
  return counted;
}

// One flag per variant of the evidence: whether it failed on one of these GPUs.
std::vector<bool> failures(const Evidence& evidence, const std::vector<bool>& on_gpu) {
  std::vector<bool> failed(evidence.variants.size(), false);
  for (const Evidence::Row& row : evidence.rows) {
    if (rules_out(row.outcome) && on_gpu[row.gpu]) failed[row.variant] = true;
  }
  return failed;
}

Status check_variant(const Operator& op, const std::string& variant) {
  if (is_of_another_version(op, variant)) return {};
  return parse_variant(op, variant).status();
}

}  // namespace

bool rules_out(Outcome outcome) {
  return outcome == Outcome::wrong || outcome == Outcome::crashed || outcome == Outcome::timeout ||
         outcome == Outcome::launch_failed;
}

std::vector<TunedEntry> decode_tuned(const Operator& op, const std::vector<TunedView>& rows) {
  struct Kept {
    std::size_t place, rank;
    std::int64_t sweep;
  };
  std::vector<TunedEntry> entries;
  std::vector<GpuRecord> gpus;
  std::map<std::int64_t, std::size_t> gpu_places;  // by row id
  std::map<std::pair<std::size_t, std::string>, Kept> seen;
  for (const TunedView& row : rows) {
    if (row.op != op.full_name()) continue;
    Result<Problem> problem = decode_problem(op, row.problem);
    Result<Variant> variant = parse_variant(op, row.tuned.variant);
    if (!problem.ok() || !variant.ok()) continue;
    TunedEntry entry{*std::move(problem), *std::move(variant), row.gpu, row.tuned.median_ns,
                     row.tuned.build_sha256};
    const std::size_t rank = method_rank(row.tuned.method, row.tuned.median_ns);
    auto gpu = gpu_places.find(row.tuned.gpu);
    if (gpu == gpu_places.end()) {
      gpu = gpu_places.emplace(row.tuned.gpu, find_same_gpu(gpus, row.gpu)).first;
      if (gpu->second == gpus.size()) gpus.push_back(row.gpu);
    }
    const Kept kept{entries.size(), rank, row.tuned.sweep};
    const auto [at, is_new] = seen.try_emplace({gpu->second, entry.problem.text()}, kept);
    Kept& before = at->second;
    if (is_new) {
      entries.push_back(std::move(entry));
    } else if (rank < before.rank || (rank == before.rank && kept.sweep > before.sweep)) {
      entries[before.place] = std::move(entry);
      before = {before.place, rank, kept.sweep};
    }
  }
  return entries;
}

Evidence decode_evidence(const Operator& op, const std::vector<TunedView>& tuned,
                         const MeasuredRows& measured) {
  Evidence evidence(decode_tuned(op, tuned));
  evidence.gpus = measured.gpus;
  evidence.drivers = measured.drivers;
  const Places places = decode_lists(op, measured, evidence);
  const std::map<GpuProblem, std::uint32_t> counted = counted_methods(measured);
  for (const MeasuredRows::Row& row : measured.rows) {
    const std::uint32_t problem = places.problems[row.problem];
    const std::uint32_t variant = places.variants[row.variant];
    if (problem == kNone || variant == kNone) continue;
    if (row.method != 0 && counted.at({row.gpu, row.problem}) != row.method) continue;
    evidence.rows.push_back({row.gpu, problem, variant, row.driver, row.outcome, row.median_ns});
  }
  return evidence;
}

Status check_offered(const Operator& op, std::span<const TunedView> tuned,
                     const MeasuredRows& measured) {
  const std::string name = op.full_name();
  for (const TunedView& row : tuned) {
    if (row.op != name) continue;
    const std::string pick = "the pick of " + name + " " + row.problem;
    MGTUNE_TRY(decode_problem(op, row.problem).status().with_context(pick));
    MGTUNE_TRY(check_variant(op, row.tuned.variant).with_context(pick));
  }
  for (const MeasuredRows::ProblemText& problem : measured.problems) {
    if (problem.op != name) continue;
    MGTUNE_TRY(decode_problem(op, problem.text).status().with_context("a measurement of " + name));
  }
  std::vector<bool> seen(measured.variants.size(), false);
  for (const MeasuredRows::Row& row : measured.rows) {
    const MeasuredRows::ProblemText& problem = measured.problems[row.problem];
    if (problem.op != name || seen[row.variant]) continue;
    seen[row.variant] = true;
    MGTUNE_TRY(check_variant(op, measured.variants[row.variant])
                   .with_context("a measurement of " + name + " " + problem.text));
  }
  return {};
}

std::vector<bool> same_gpus(const Evidence& evidence, const GpuRecord& gpu) {
  std::vector<bool> same;
  for (const GpuRecord& other : evidence.gpus) same.push_back(is_same_gpu(other, gpu));
  return same;
}

std::vector<Variant> failed_variants(const Evidence& evidence, const GpuRecord& gpu) {
  const std::vector<bool> failed = failures(evidence, same_gpus(evidence, gpu));
  std::vector<Variant> variants;
  for (std::size_t i = 0; i < failed.size(); ++i) {
    if (failed[i]) variants.push_back(evidence.variants[i]);
  }
  return variants;
}

std::optional<double> MeasuredProblem::median_ns(const Variant& variant) const {
  for (const MeasuredVariant& measured : variants) {
    if (*measured.variant == variant) return measured.median_ns;
  }
  return std::nullopt;
}

bool same_dtypes_and_flags(const Operator& op, const Slots& a, const Slots& b) {
  const auto same = [&](const auto& name) {
    return a[std::size_t(name.slot)] == b[std::size_t(name.slot)];
  };
  return std::ranges::all_of(op.dtypes, same) && std::ranges::all_of(op.flags, same);
}

std::vector<MeasuredProblem> measured_problems(const Evidence& evidence, const GpuRecord& gpu,
                                               const Binding& binding) {
  const std::vector<bool> on_gpu = same_gpus(evidence, gpu);
  const std::vector<bool> failed = failures(evidence, on_gpu);
  std::vector<MeasuredProblem> problems;
  for (const Problem& problem : evidence.problems) problems.push_back({&problem, {}});
  for (const Evidence::Row& row : evidence.rows) {
    if (row.median_ns <= 0 || failed[row.variant] || !on_gpu[row.gpu]) continue;
    problems[row.problem].variants.push_back({&evidence.variants[row.variant], row.median_ns});
  }
  std::erase_if(problems, [&](const MeasuredProblem& one) {
    return one.variants.empty() ||
           !same_dtypes_and_flags(*binding.op, binding.slots, one.problem->slots);
  });
  for (MeasuredProblem& problem : problems) {
    std::ranges::sort(problem.variants, [](const auto& a, const auto& b) {
      return std::tie(a.median_ns, a.variant) < std::tie(b.median_ns, b.variant);
    });
  }
  return problems;
}

}  // namespace mgtune
