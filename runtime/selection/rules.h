// Rules: a small decision tree that says which variants of an operator to try for a problem.
// `mgtune fit` makes it from the measurements of one GPU, as a file <operator>.rules.json
// (configs/schema/rules.schema.json). Conditions name figures of the device ("bytes <= 2 *
// device.l2_bytes"), so the same tree serves other GPUs with thresholds of their own. Immutable:
// any number of threads may read one.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "database/gpu_record.h"
#include "expression/expression.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "family/variant_pattern.h"
#include "json/json_cursor.h"

namespace mgtune {

// The names that conditions of an operator's rules may use: those of the operator's scope without
// build.*, and two more.
class RuleNames {
 public:
  explicit RuleNames(const Operator& op);

  const Scope& scope() const { return scope_; }
  // Fails as Expression::parse() does, and if the condition needs a loaded build.
  Result<Expression> parse(std::string_view text, ValueType type) const;

  // The slots that a condition reads: the problem's, the device's, `bytes`, which is the operator's
  // cost, and `device.bandwidth` in bytes per microsecond.
  Slots values(const Problem& problem, const DeviceLimits& device, std::int64_t bytes_per_us) const;

  std::size_t bytes_slot() const { return bytes_slot_; }
  std::size_t bandwidth_slot() const { return bandwidth_slot_; }

 private:
  Scope scope_;
  std::size_t bytes_slot_ = 0, bandwidth_slot_ = 0;
};

// How much slower than the fastest variant the first ranked one is: 0.02 is 2 %.
struct LossSummary {
  std::int64_t problems = 0;
  double median = 0, percentile_95 = 0, worst = 0;
};

struct RuleNode {
  std::optional<Expression> condition;  // none in a leaf
  std::size_t yes = 0, no = 0;          // places of the nodes; both are behind this one
  std::vector<std::size_t> ranking;     // of a leaf: the places of variants, best first
  LossSummary left_out;                 // the leaf's problems, each left out of a fit in turn
};

struct Rules {
  const Operator* op = nullptr;   // must outlive the rules
  std::string file;               // where they were read, for messages
  GpuRecord gpu;                  // the GPU of the measurements
  std::int64_t bytes_per_us = 0;  // the GPU's bandwidth; 0: not known
  // One problem for each combination of dtypes and flags that the rules were fitted to. They say
  // nothing about other combinations (is_alike()). Empty if the operator has none of these problems
  // any more; then rules_for() accepts the rules for all combinations.
  std::vector<Slots> kinds;
  std::vector<VariantPattern> variants;
  std::vector<RuleNode> nodes;  // the root is the first
  // The losses over all problems: of the fit itself, with each problem left out in turn, with each
  // band of a dim left out in turn, and of the default ladder.
  LossSummary fitted, left_out_problem, left_out_band, ladder;
  // The losses at problems that the rules were not fitted to: of the rules, and of the default
  // ladder. If no problems were held out, their number is 0.
  LossSummary held_out, held_out_ladder;
  // How many of these losses are estimates, because the variant was not measured there.
  std::int64_t held_out_estimated = 0, held_out_ladder_estimated = 0;
  std::string command, commit;

  const RuleNode& leaf_of(std::span<const std::int64_t> values) const;  // of RuleNames::values()
};

// Whether a rule for one binding or problem holds for the other: the flags are the same, and the
// dtypes have the same sizes. So f16 and bf16 are alike.
bool is_alike(const Operator& op, const Slots& a, const Slots& b);

// The file in which `mgtune fit` puts rules: "rmsnorm.forward.rules.json".
std::string rules_file_name(const std::string& op);

inline constexpr std::size_t kMaxRuleVariants = 12, kMaxRuleLeaves = 40;

// Whether the document has the form of rules, and the operator that it names. nullopt if it is no
// rules file.
std::optional<std::string> rules_operator(const JsonValue& document);

// Reads rules of `op`. invalid_argument, with file and place, for anything that the operator does
// not have; incompatible for a newer format.
Result<Rules> read_rules(const std::string& file, const JsonValue& document, const Operator& op);

// The bandwidth of a GPU by its product in configs/gpus; 0 if no product has the name.
std::int64_t bandwidth_of(const GpuRecord& gpu);

// One line for each condition on the way to the problem's leaf, with the values on both sides:
// "bytes <= 2 * device.l2_bytes (67141632 against 125829120): yes".
std::vector<std::string> path_text(const Rules& rules, const Problem& problem,
                                   const DeviceLimits& device, std::int64_t bytes_per_us);

}  // namespace mgtune
