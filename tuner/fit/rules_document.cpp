#include "fit/rules_document.h"

#include <cmath>
#include <map>

#include "json/json.h"
#include "selection/rules.h"
#include "store/record_json.h"

namespace mgtune {
namespace {

// In steps of 0.01 %, so that rounding gives the same text on every machine.
Json rounded(double loss) { return std::round(loss * 1e4) / 1e4; }

Json loss_json(const LossSummary& loss) {
  return {{"problems", loss.problems},
          {"median", rounded(loss.median)},
          {"percentile_95", rounded(loss.percentile_95)},
          {"worst", rounded(loss.worst)}};
}

Json held_out_json(const HeldOut& held_out) {
  Json problems = Json::array();
  for (const HeldOut::OneProblem& one : held_out.problems) {
    problems.push_back(
        {{"problem", one.problem}, {"loss", rounded(one.loss)}, {"ladder", rounded(one.ladder)}});
  }
  return {{"rules", loss_json(held_out.rules)},
          {"ladder", loss_json(held_out.ladder)},
          {"estimated", held_out.estimated},
          {"ladder_estimated", held_out.ladder_estimated},
          {"problems", std::move(problems)}};
}

Json pattern_json(const Operator& op, const VariantPattern& pattern) {
  const Design& design = op.designs[static_cast<std::size_t>(pattern.design)];
  Json parameters = Json::object();
  for (std::size_t i = 0; i < design.params.size(); ++i) {
    const Parameter& parameter = design.params[i];
    const PatternValue& value = pattern.values[i];
    parameters[parameter.name] =
        value.expression ? Json(value.expression->text())
                         : Json::of_word(design.scope.value_text(parameter.type, value.value));
  }
  return {{"design", design.name}, {"parameters", std::move(parameters)}};
}

// Numbers the variants that leaves name, in the order of the leaves.
class TreeWriter {
 public:
  TreeWriter(const FitData& data, const RuleTree& tree, const std::vector<double>& left_out)
      : data_(data), tree_(tree), left_out_(left_out) {}

  Json write(std::size_t place) {
    const RuleTree::Node& node = tree_.nodes()[place];
    if (node.condition.empty()) return leaf(node);
    Json then = write(node.yes);
    return {{"if", node.condition}, {"then", std::move(then)}, {"else", write(node.no)}};
  }

  Json variants() const {
    Json list = Json::array();
    for (const std::size_t variant : order_) {
      list.push_back(pattern_json(*data_.op, data_.patterns[variant]));
    }
    return list;
  }

 private:
  Json leaf(const RuleTree::Node& node) {
    Json ranking = Json::array();
    for (const std::size_t variant : data_.before_ladder(node.ranking)) {
      const auto [found, is_new] = places_.try_emplace(variant, order_.size());
      if (is_new) order_.push_back(variant);
      ranking.push_back(found->second);
    }
    std::vector<double> losses;
    for (const std::size_t p : node.problems) {
      if (p < left_out_.size()) losses.push_back(left_out_[p]);  // it was measured
    }
    return {{"rank", std::move(ranking)}, {"left_out", loss_json(summary_of(std::move(losses)))}};
  }

  const FitData& data_;
  const RuleTree& tree_;
  const std::vector<double>& left_out_;
  std::map<std::size_t, std::size_t> places_;
  std::vector<std::size_t> order_;
};

}  // namespace

std::string rules_document(const FitData& data, const LossTable& table, const RuleTree& tree,
                           const std::vector<double>& left_out, const FittedRules& summary,
                           const std::string& command, const std::string& commit) {
  TreeWriter writer(data, tree, left_out);
  Json rules = writer.write(0);
  Json problems = Json::array();
  for (std::size_t p = 0; p < data.measured.size(); ++p) {
    const double loss = loss_of_ranking(table, p, tree.leaf_of(p).ranking);
    problems.push_back({{"problem", data.measured[p].problem.text()},
                        {"fitted", rounded(loss)},
                        {"left_out", rounded(left_out[p])},
                        {"ladder", rounded(table.ladder[p])}});
  }
  Json evidence = {{"command", command},
                   {"commit", commit},
                   {"fitted", loss_json(summary.fitted)},
                   {"left_out_problem", loss_json(summary.left_out_problem)},
                   {"left_out_band", loss_json(summary.left_out_band)},
                   {"ladder", loss_json(summary.ladder)},
                   {"problems", std::move(problems)}};
  if (summary.held_out) evidence.update({{"held_out", held_out_json(*summary.held_out)}});
  const Json document = {{"format", 1},
                         {"operator", summary.op},
                         {"gpu", record_json(data.gpu)},
                         {"bandwidth", bandwidth_of(data.gpu)},
                         {"evidence", std::move(evidence)},
                         {"variants", writer.variants()},
                         {"rules", std::move(rules)}};
  return document.document_text();
}

}  // namespace mgtune
