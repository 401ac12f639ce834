#include "plan/random_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/text.h"
#include "plan/problem_check.h"
#include "plan/problem_set.h"
#include "space/random_stream.h"

namespace mgtune {
namespace {

constexpr std::int64_t kLargestStep = 64;
constexpr std::size_t kMaxDrawsPerProblem = 1000;

struct DrawnRange {
  std::int64_t low = 1, high = 1, step = 1;
};

Result<DrawnRange> parse_range(const std::string& dim, const std::string& text) {
  std::vector<std::int64_t> numbers;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    const auto number = whole_number(std::string_view(text).substr(begin, end - begin));
    numbers.push_back(number.value_or(-1));
    begin = end + 1;
  }
  const bool is_right = numbers.size() >= 2 && numbers.size() <= 3 && numbers[0] >= 0 &&
                        numbers[0] <= numbers[1] && (numbers.size() < 3 || numbers[2] > 0);
  if (!is_right) {
    return invalid_argument(
        fmt::format("--ranges {}={}: expected LOW:HIGH or LOW:HIGH:STEP, for example {}=1:65536",
                    dim, text, dim));
  }
  return DrawnRange{numbers[0], numbers[1], numbers.size() == 3 ? numbers[2] : 1};
}

DrawnRange range_of_own(const Dim& dim, const std::vector<Problem>& own) {
  const auto value = [&](const Problem& problem) { return problem.slots[std::size_t(dim.slot)]; };
  DrawnRange range{value(own.front()), value(own.front()), kLargestStep};
  for (const Problem& problem : own) {
    range.low = std::min(range.low, value(problem));
    range.high = std::max(range.high, value(problem));
    range.step = std::gcd(range.step, value(problem));
  }
  if (dim.kind != DimKind::fixed) range.step = 1;
  return range;
}

using Ranges = std::map<std::string, DrawnRange>;

Result<Ranges> ranges_of(const Operator& op, const std::vector<Problem>& own,
                         const std::string& text) {
  Ranges ranges;
  for (const Dim& dim : op.dims) {
    if (!dim.fallback) ranges[dim.name] = range_of_own(dim, own);
  }
  if (text.empty()) return ranges;
  MGTUNE_ASSIGN(const ProblemValues words, parse_assignments(text));
  for (const auto& [name, word] : words) {
    const auto dim = std::ranges::find(op.dims, name, &Dim::name);
    if (dim == op.dims.end()) {
      return invalid_argument(fmt::format("--ranges: {} has no dim '{}'{}", op.full_name(), name,
                                          did_you_mean(name, op.dims, &Dim::name)));
    }
    MGTUNE_ASSIGN(ranges[name], parse_range(name, word));
  }
  return ranges;
}

std::int64_t drawn_value(const DrawnRange& range, RandomStream& random) {
  const double low = std::log(static_cast<double>(std::max<std::int64_t>(range.low, 1)));
  const double high = std::log(static_cast<double>(std::max<std::int64_t>(range.high, 1)));
  const double value = std::exp(low + random.uniform() * (high - low));
  const auto steps =
      static_cast<std::int64_t>(std::llround(value / static_cast<double>(range.step)));
  return std::clamp(steps * range.step, range.low, range.high);
}

std::int64_t bytes_of(const Problem& problem) {
  const Result<std::int64_t> bytes = problem.op->bytes.evaluate(problem.slots);
  return bytes.ok() ? *bytes : 0;
}

struct Draws {
  std::vector<Problem> problems;  // as many as wanted, or as there are
  Status refusal;                 // of the last draw that the operator refused
};

// Draws problems of the operator of `examples`, none of which is in `seen`.
Draws draw(const std::vector<Problem>& examples, const Ranges& ranges, std::size_t count,
           std::uint64_t seed, std::set<std::string> seen) {
  const Operator& op = *examples.front().op;
  std::int64_t largest = 0;
  for (const Problem& problem : examples) largest = std::max(largest, bytes_of(problem));
  RandomStream random(seed);
  Draws drawn;
  for (std::size_t i = 0; i < kMaxDrawsPerProblem * count; ++i) {
    if (drawn.problems.size() == count) break;
    const Problem& example = examples[random.below(examples.size())];
    ProblemValues words = parse_assignments(example.text()).value();
    for (const Dim& dim : op.dims) words.erase(dim.name);
    for (const auto& [name, range] : ranges) {
      words[name] = std::to_string(drawn_value(range, random));
    }
    Result<Problem> problem = bind_problem(op, words);
    if (!problem.ok()) {
      drawn.refusal = std::move(problem).take_status();
      continue;
    }
    if (bytes_of(*problem) > largest || !check_tensors(*problem).ok()) continue;
    if (seen.insert(problem->text()).second) drawn.problems.push_back(*std::move(problem));
  }
  return drawn;
}

}  // namespace

std::vector<Problem> draw_problems_like(const std::vector<Problem>& examples, std::size_t count,
                                        std::uint64_t seed) {
  std::set<std::string> seen;
  for (const Problem& example : examples) seen.insert(example.text());
  const Operator& op = *examples.front().op;
  const Result<Ranges> ranges = ranges_of(op, examples, "");
  if (!ranges.ok()) return {};  // it fails only for wrong words
  return draw(examples, *ranges, count, seed, std::move(seen)).problems;
}

std::vector<Problem> choose_problems(std::vector<Problem> given, std::size_t count,
                                     std::uint64_t seed) {
  struct Left {
    std::size_t given = 0, wanted = 0;
  };
  std::map<const Operator*, Left> left;
  for (const Problem& problem : given) ++left[problem.op].given;
  for (auto& [op, numbers] : left) numbers.wanted = std::min(count, numbers.given);
  RandomStream random(seed);
  // Of the problems that are left, each has the same chance. If all of them are still wanted, all
  // are chosen.
  std::erase_if(given, [&](const Problem& problem) {
    Left& numbers = left[problem.op];
    const bool is_chosen = random.below(numbers.given--) < numbers.wanted;
    if (is_chosen) --numbers.wanted;
    return !is_chosen;
  });
  return given;
}

Result<std::vector<Problem>> draw_problems(const Operator& op, const RandomProblems& wanted,
                                           DeviceKind device) {
  ProblemRequest request;
  request.dtypes = wanted.dtypes;
  MGTUNE_ASSIGN(const std::vector<Problem> own, make_problems({&op}, request, device));
  MGTUNE_ASSIGN(const Ranges ranges, ranges_of(op, own, wanted.ranges));
  Draws drawn = draw(own, ranges, wanted.count, wanted.seed, {});
  if (drawn.problems.size() == wanted.count) return std::move(drawn.problems);
  const Status& refusal = drawn.refusal;
  return invalid_argument(
      fmt::format("--for-rules {}: only {} different problems of {} were found in these ranges; "
                  "widen them with "
                  "--ranges{}",
                  wanted.count, drawn.problems.size(), op.full_name(),
                  refusal.ok() ? "" : " (a draw was refused: " + refusal.message() + ")"));
}

}  // namespace mgtune
