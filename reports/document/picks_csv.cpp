#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "document/markdown.h"

namespace mgtune {
namespace {

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

std::string number_text(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{:.7g}", *value) : "";
}

std::string known(double value) { return value > 0 ? number_text(value) : ""; }

using Cells = std::vector<std::pair<std::string_view, std::string>>;  // by column

Cells cells_of(const ReportPick& pick, const std::optional<BaselinePick>& baseline) {
  const TunedRecord& tuned = pick.view.tuned;
  const std::vector<CeilingShare> shares = ceiling_shares(pick);
  return {{"gpu", pick.view.gpu.model},
          {"emulation", pick.view.gpu.emulation ? "true" : "false"},
          {"operator", pick.view.op},
          {"problem", pick.view.problem},
          {"method", tuned.method},
          {"variant", tuned.variant},
          {"time_ns", known(tuned.median_ns)},
          {"low_ns", number_text(pick.low_ns)},
          {"high_ns", number_text(pick.high_ns)},
          {"default_variant", tuned.default_variant},
          {"default_ns", known(tuned.default_median_ns)},
          {"standing", std::string(to_string(pick.standing))},
          {"speedup", number_text(pick.speedup)},
          {"speedup_low", number_text(pick.speedup_low)},
          {"speedup_high", number_text(pick.speedup_high)},
          {"baseline_variant", baseline ? baseline->variant : ""},
          {"baseline_ns", baseline ? known(baseline->time_ns) : ""},
          {"baseline_speedup", baseline ? number_text(baseline->speedup) : ""},
          {"baseline_verdict", baseline ? std::string(to_string(baseline->verdict)) : ""},
          {"ceiling", shares.empty() ? "" : shares.front().name},
          {"ceiling_fraction", shares.empty() ? "" : number_text(shares.front().fraction)},
          {"bandwidth_gbps", number_text(pick.bandwidth_gbps)},
          {"noise_floor", number_text(pick.noise_floor)},
          {"tied", std::to_string(pick.tied.size())},
          {"limit", pick.roofline.limit},
          {"variants_ok", std::to_string(pick.variants_ok)},
          {"variants_failed", std::to_string(pick.variants_failed)},
          {"imported", pick.imported ? "true" : "false"},
          {"build_sha256", tuned.build_sha256}};
}

}  // namespace

std::string picks_csv(const ReportModel& model, const DocumentOptions& options) {
  std::string text;
  for (const auto& [column, cell] : cells_of({}, std::nullopt)) {
    text.append(text.empty() ? "" : ",").append(column);
  }
  text += '\n';
  for (std::size_t i = 0; i < model.picks.size(); ++i) {
    const auto baseline = i < options.baseline.size() ? options.baseline[i] : std::nullopt;
    std::string line;
    for (const auto& [column, cell] : cells_of(model.picks[i], baseline)) {
      line.append(line.empty() ? "" : ",").append(quoted(cell));
    }
    text += line + '\n';
  }
  return text;
}

}  // namespace mgtune
