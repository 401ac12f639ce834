#include "selection/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "device/gpu_catalog.h"
#include "tables/checked_values.h"

namespace mgtune {
namespace {

constexpr std::int64_t kRulesFormat = 1;
constexpr int kMaxDepth = 24;  // JSON texts may have 32 levels
constexpr std::string_view kComparison = " <= ";

// A failure of evaluation (an overflow) counts as false.
bool holds(const Expression& condition, std::span<const std::int64_t> values) {
  const Result<std::int64_t> value = condition.evaluate(values);
  return value.ok() && *value != 0;
}

Result<LossSummary> read_loss(const JsonCursor& loss) {
  LossSummary summary;
  MGTUNE_TRY(loss.expect_keys({"problems", "median", "percentile_95", "worst"}));
  MGTUNE_TRY(loss.read("problems", summary.problems));
  MGTUNE_TRY(loss.read("median", summary.median));
  MGTUNE_TRY(loss.read("percentile_95", summary.percentile_95));
  MGTUNE_TRY(loss.read("worst", summary.worst));
  return summary;
}

// Problems that the operator cannot bind any more are passed over.
Status read_kinds(const JsonCursor& problems, const Operator& op, Rules& rules) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> all, problems.elements());
  for (const JsonCursor& one : all) {
    MGTUNE_TRY(one.expect_keys({"problem", "fitted", "left_out", "ladder"}));
    MGTUNE_ASSIGN(const std::string text, read_text(one.at("problem")));
    const Result<ProblemValues> words = parse_assignments(text);
    if (!words.ok()) continue;
    Result<Problem> problem = bind_problem(op, *words);
    if (!problem.ok()) continue;
    const bool is_known = std::ranges::any_of(
        rules.kinds, [&](const Slots& kind) { return is_alike(op, kind, problem->slots); });
    if (!is_known) rules.kinds.push_back(std::move(problem->slots));
  }
  return {};
}

class TreeReader {
 public:
  TreeReader(const Operator& op, Rules& rules) : names_(op), rules_(rules) {}

  Result<std::size_t> read(const JsonCursor& node, int depth) {
    if (depth > kMaxDepth) return node.error(fmt::format("deeper than {} levels", kMaxDepth));
    const std::size_t place = rules_.nodes.size();
    rules_.nodes.emplace_back();
    if (node.find("rank")) {
      MGTUNE_TRY(read_leaf(node, place));
      return place;
    }
    MGTUNE_TRY(node.expect_keys({"if", "then", "else"}));
    MGTUNE_ASSIGN(const std::string text, node.at("if").string());
    Result<Expression> condition = names_.parse(text, ValueType::boolean);
    if (!condition.ok()) return node.at("if").error(condition.status().message());
    rules_.nodes[place].condition = *std::move(condition);
    MGTUNE_ASSIGN(rules_.nodes[place].yes, read(node.at("then"), depth + 1));
    MGTUNE_ASSIGN(rules_.nodes[place].no, read(node.at("else"), depth + 1));
    return place;
  }

 private:
  Status read_leaf(const JsonCursor& node, std::size_t place) {
    MGTUNE_TRY(node.expect_keys({"rank", "left_out"}));
    if (++leaves_ > kMaxRuleLeaves) {
      return node.error(fmt::format("more than {} leaves", kMaxRuleLeaves));
    }
    MGTUNE_TRY(node.read("rank", rules_.nodes[place].ranking));
    std::set<std::size_t> ranked;
    for (const std::size_t variant : rules_.nodes[place].ranking) {
      if (variant >= rules_.variants.size()) {
        return node.at("rank").error(fmt::format("there is no variant {}", variant));
      }
      if (!ranked.insert(variant).second) {
        return node.at("rank").error(fmt::format("variant {} stands there twice", variant));
      }
    }
    MGTUNE_ASSIGN(rules_.nodes[place].left_out, read_loss(node.at("left_out")));
    return {};
  }

  RuleNames names_;
  Rules& rules_;
  std::size_t leaves_ = 0;
};

Status read_variants(const JsonCursor& variants, const Operator& op, Rules& rules) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> all, variants.elements());
  if (all.size() > kMaxRuleVariants) {
    return variants.error(fmt::format("more than {} variants", kMaxRuleVariants));
  }
  for (const JsonCursor& one : all) {
    MGTUNE_TRY(one.expect_keys({"design", "parameters"}));
    MGTUNE_ASSIGN(VariantPattern pattern,
                  decode_pattern(one.at("design"), one.at("parameters"), op));
    rules.variants.push_back(std::move(pattern));
  }
  return {};
}

}  // namespace

RuleNames::RuleNames(const Operator& op) : scope_(op.scope) {
  // An operator with a dim of this name keeps its own meaning.
  const auto declare = [&](std::string_view name) {
    const Result<int> slot = scope_.declare(name, ValueType::integer, Stage::launch);
    return slot.ok() ? static_cast<std::size_t>(*slot) : scope_.size();
  };
  bandwidth_slot_ = declare("device.bandwidth");
  bytes_slot_ = declare("bytes");
}

Result<Expression> RuleNames::parse(std::string_view text, ValueType type) const {
  MGTUNE_ASSIGN(Expression parsed, Expression::parse(text, scope_, type));
  for (const int slot : parsed.slots()) {
    if (slot == kSlotBuildBlocksPerSm || slot == kSlotBuildMaxClusters) {
      return parsed.refusal("rules are looked up before a build is loaded");
    }
  }
  return parsed;
}

Slots RuleNames::values(const Problem& problem, const DeviceLimits& device,
                        std::int64_t bytes_per_us) const {
  Slots values = problem.slots;
  values.resize(std::max(values.size(), scope_.size()) + 1);
  set_device_slots(device, values);
  const Result<std::int64_t> bytes = problem.op->bytes.evaluate(values);
  values[bytes_slot_] = bytes.ok() ? *bytes : 0;
  values[bandwidth_slot_] = bytes_per_us;
  return values;
}

const RuleNode& Rules::leaf_of(std::span<const std::int64_t> values) const {
  const RuleNode* node = &nodes.front();
  while (node->condition) node = &nodes[holds(*node->condition, values) ? node->yes : node->no];
  return *node;
}

bool is_alike(const Operator& op, const Slots& a, const Slots& b) {
  const auto same_size = [&](const DTypeVariable& dtype) {
    const auto slot = static_cast<std::size_t>(dtype.slot);
    return size_in_bytes(static_cast<DType>(a[slot])) == size_in_bytes(static_cast<DType>(b[slot]));
  };
  const auto same = [&](const Flag& flag) {
    const auto slot = static_cast<std::size_t>(flag.slot);
    return a[slot] == b[slot];
  };
  return std::ranges::all_of(op.dtypes, same_size) && std::ranges::all_of(op.flags, same);
}

std::string rules_file_name(const std::string& op) { return op + ".rules.json"; }

std::optional<std::string> rules_operator(const JsonValue& document) {
  const JsonValue* const op = document.find("operator");
  if (document.find("rules") == nullptr || op == nullptr) return std::nullopt;
  if (op->kind != JsonValue::Kind::string) return std::nullopt;
  return op->string;
}

Result<Rules> read_rules(const std::string& file, const JsonValue& document, const Operator& op) {
  const JsonCursor root(file, document);
  std::int64_t format = 0;
  MGTUNE_TRY(root.read("format", format));
  if (format > kRulesFormat) {
    return incompatible(fmt::format("{}: format {} is newer than this mgtune", file, format));
  }
  MGTUNE_TRY(root.expect_keys(
      {"format", "operator", "gpu", "bandwidth", "evidence", "variants", "rules"}));
  Rules rules;
  rules.op = &op;
  rules.file = file;
  MGTUNE_ASSIGN(rules.gpu, read_gpu(root.at("gpu")));
  MGTUNE_TRY(root.read("bandwidth", rules.bytes_per_us));
  if (rules.bytes_per_us < 0) return root.at("bandwidth").error("a bandwidth is not negative");
  const JsonCursor evidence = root.at("evidence");
  MGTUNE_TRY(evidence.expect_keys(
      {"command", "commit", "fitted", "left_out_problem", "left_out_band", "ladder", "problems"},
      {"held_out"}));
  MGTUNE_ASSIGN(rules.command, read_text(evidence.at("command")));
  MGTUNE_ASSIGN(rules.commit, read_text(evidence.at("commit")));
  MGTUNE_ASSIGN(rules.fitted, read_loss(evidence.at("fitted")));
  MGTUNE_ASSIGN(rules.left_out_problem, read_loss(evidence.at("left_out_problem")));
  MGTUNE_ASSIGN(rules.left_out_band, read_loss(evidence.at("left_out_band")));
  MGTUNE_ASSIGN(rules.ladder, read_loss(evidence.at("ladder")));
  MGTUNE_TRY(read_kinds(evidence.at("problems"), op, rules));
  if (const auto held_out = evidence.find("held_out")) {
    MGTUNE_TRY(
        held_out->expect_keys({"rules", "ladder", "problems"}, {"estimated", "ladder_estimated"}));
    MGTUNE_ASSIGN(rules.held_out, read_loss(held_out->at("rules")));
    MGTUNE_ASSIGN(rules.held_out_ladder, read_loss(held_out->at("ladder")));
    MGTUNE_TRY(held_out->read("estimated", rules.held_out_estimated));
    MGTUNE_TRY(held_out->read("ladder_estimated", rules.held_out_ladder_estimated));
  }
  MGTUNE_TRY(read_variants(root.at("variants"), op, rules));
  MGTUNE_TRY(TreeReader(op, rules).read(root.at("rules"), 0).status());
  return rules;
}

std::int64_t bandwidth_of(const GpuRecord& gpu) {
  static const Result<std::vector<GpuProduct>> products = shipped_gpu_products();
  if (!products.ok()) return 0;
  for (const GpuProduct& product : *products) {
    if (!product.is_called(gpu.model)) continue;
    return static_cast<std::int64_t>(product.peak.bandwidth_gbps * 1000);
  }
  return 0;
}

std::vector<std::string> path_text(const Rules& rules, const Problem& problem,
                                   const DeviceLimits& device, std::int64_t bytes_per_us) {
  const RuleNames names(*rules.op);
  const Slots values = names.values(problem, device, bytes_per_us);
  const auto value_of = [&](std::string_view text) -> std::optional<std::int64_t> {
    const Result<Expression> side = names.parse(text, ValueType::integer);
    if (!side.ok()) return std::nullopt;
    const Result<std::int64_t> value = side->evaluate(values);
    return value.ok() ? std::optional(*value) : std::nullopt;
  };
  std::vector<std::string> lines;
  const RuleNode* node = &rules.nodes.front();
  while (node->condition) {
    const std::string& text = node->condition->text();
    const bool is_true = holds(*node->condition, values);
    std::string line = text;
    if (const std::size_t at = text.find(kComparison); at != std::string::npos) {
      const auto left = value_of(std::string_view(text).substr(0, at));
      const auto right = value_of(std::string_view(text).substr(at + kComparison.size()));
      if (left && right) line += fmt::format(" ({} against {})", *left, *right);
    }
    lines.push_back(line + (is_true ? ": yes" : ": no"));
    node = &rules.nodes[is_true ? node->yes : node->no];
  }
  return lines;
}

}  // namespace mgtune
