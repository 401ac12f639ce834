#include "cli/output/rules_table.h"

#include <fmt/format.h>

#include <vector>

#include "json/json.h"
#include "text/text_table.h"

namespace mgtune {
namespace {

struct LeafRow {
  std::vector<std::string> conditions;  // on the path to the leaf: "bytes > 4096"
  const RuleNode* leaf;
};

void collect_leaves(const Rules& rules, std::size_t place, const std::vector<std::string>& so_far,
                    std::vector<LeafRow>& rows) {
  const RuleNode& node = rules.nodes[place];
  if (!node.condition) {
    rows.push_back({so_far, &node});
    return;
  }
  std::vector<std::string> conditions = so_far;
  conditions.push_back(node.condition->text());
  collect_leaves(rules, node.yes, conditions, rows);
  // A condition "a <= b" has only one comparison, so its negation is "a > b".
  const std::string& text = node.condition->text();
  const std::size_t at = text.find(" <= ");
  if (at != std::string::npos) {
    conditions.back() = text.substr(0, at) + " > " + text.substr(at + 4);
  } else {
    conditions.back() = text.starts_with('!') ? text.substr(1) : "!" + text;
  }
  collect_leaves(rules, node.no, conditions, rows);
}

std::vector<LeafRow> leaf_rows(const Rules& rules) {
  std::vector<LeafRow> rows;
  collect_leaves(rules, 0, {}, rows);
  return rows;
}

std::string joined(const std::vector<std::string>& conditions) {
  std::string text;
  for (const std::string& condition : conditions) text += (text.empty() ? "" : " && ") + condition;
  return text.empty() ? "always" : text;
}

std::string loss_words(const LossSummary& loss) {
  return fmt::format("{:.1f} % in the median, {:.1f} % at worst over {} problems",
                     100 * loss.median, 100 * loss.worst, loss.problems);
}

std::string estimated_words(std::int64_t problems) {
  return problems == 0 ? "" : fmt::format(" ({} of them estimated)", problems);
}

std::string table_of(const Rules& rules) {
  std::string text = fmt::format(
      "{} on {}\nslower than the best variant at problems that a fit did not know: {}\n",
      rules.op->full_name(), rules.gpu.model, loss_words(rules.left_out_problem));
  if (rules.left_out_band.problems > 0) {
    text += fmt::format("if it did not know the whole band of a dim: {}\n",
                        loss_words(rules.left_out_band));
  }
  text += fmt::format("the default ladder: {}\n", loss_words(rules.ladder));
  if (rules.held_out.problems > 0) {
    text += fmt::format("at problems that were held out: {}{}; the default ladder there: {}{}\n",
                        loss_words(rules.held_out), estimated_words(rules.held_out_estimated),
                        loss_words(rules.held_out_ladder),
                        estimated_words(rules.held_out_ladder_estimated));
  }
  text += '\n';
  TextTable table({{"rule", TextTable::Align::right},
                   {"problems", TextTable::Align::right},
                   {"median", TextTable::Align::right},
                   {"worst", TextTable::Align::right},
                   {"variants"},
                   {"if"}});
  std::size_t number = 0;
  for (const LeafRow& row : leaf_rows(rules)) {
    std::string ranking;
    for (const std::size_t variant : row.leaf->ranking) {
      ranking += fmt::format("{}{}", ranking.empty() ? "" : ", ", variant + 1);
    }
    table.add_row({std::to_string(++number), std::to_string(row.leaf->left_out.problems),
                   fmt::format("{:.1f} %", 100 * row.leaf->left_out.median),
                   fmt::format("{:.1f} %", 100 * row.leaf->left_out.worst),
                   ranking.empty() ? "default ladder" : ranking, joined(row.conditions)});
  }
  text += table.text() + '\n';
  for (std::size_t i = 0; i < rules.variants.size(); ++i) {
    text += fmt::format("{:>4}  {}\n", i + 1, pattern_text(*rules.op, rules.variants[i]));
  }
  return text;
}

Json loss_json_of(const LossSummary& loss) {
  return {{"problems", loss.problems},
          {"median", loss.median},
          {"percentile_95", loss.percentile_95},
          {"worst", loss.worst}};
}

}  // namespace

std::string rules_table(std::span<const Rules> rules) {
  std::string text;
  for (const Rules& one : rules) text += (text.empty() ? "" : "\n") + table_of(one);
  return text;
}

std::string rules_json(std::span<const Rules> rules) {
  Json all = Json::array();
  for (const Rules& one : rules) {
    Json leaves = Json::array();
    for (const LeafRow& row : leaf_rows(one)) {
      Json variants = Json::array();
      for (const std::size_t variant : row.leaf->ranking) {
        variants.push_back(pattern_text(*one.op, one.variants[variant]));
      }
      leaves.push_back({{"conditions", row.conditions},
                        {"variants", std::move(variants)},
                        {"left_out", loss_json_of(row.leaf->left_out)}});
    }
    Json entry = {{"operator", one.op->full_name()},
                  {"gpu", one.gpu.model},
                  {"file", one.file},
                  {"command", one.command},
                  {"commit", one.commit},
                  {"fitted", loss_json_of(one.fitted)},
                  {"left_out_problem", loss_json_of(one.left_out_problem)},
                  {"left_out_band", loss_json_of(one.left_out_band)},
                  {"ladder", loss_json_of(one.ladder)},
                  {"leaves", std::move(leaves)}};
    if (one.held_out.problems > 0) {
      entry.update({{"held_out", loss_json_of(one.held_out)},
                    {"held_out_ladder", loss_json_of(one.held_out_ladder)},
                    {"held_out_estimated", one.held_out_estimated},
                    {"held_out_ladder_estimated", one.held_out_ladder_estimated}});
    }
    all.push_back(std::move(entry));
  }
  return Json({{"format", 1}, {"rules", std::move(all)}}).document_text();
}

}  // namespace mgtune
