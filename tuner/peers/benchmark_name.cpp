#include "peers/benchmark_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/text.h"

namespace mgtune {
namespace {

constexpr std::array<std::string_view, 3> kWordsOfGoogle = {"real_time", "manual_time",
                                                            "process_time"};
constexpr std::array<std::string_view, 5> kValuesOfGoogle = {"iterations", "repeats", "min_time",
                                                             "min_warmup_time", "threads"};

bool is_any(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = std::min(text.find('/'), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<bool> is_operator(const std::string& part, Catalog& catalog) {
  if (part.find('.') == std::string::npos) return false;
  const Result<const Operator*> op = catalog.find_operator(part);
  if (!op.ok() && op.status().code() != StatusCode::not_found) return op.status();
  return op.ok();
}

void set_peer(std::string name, BenchmarkName& out) {
  if (name.starts_with("BM_")) name.erase(0, 3);
  const std::size_t at = name.rfind('@');
  if (at != std::string::npos) out.version = name.substr(at + 1);
  out.peer = name.substr(0, at);
}

}  // namespace

Result<BenchmarkName> parse_benchmark_name(std::string_view text, Catalog& catalog) {
  BenchmarkName name;
  std::string peer;
  for (const std::string& part : parts_of(text)) {
    const std::size_t sign = part.find_first_of(":=");
    if (sign != std::string::npos && sign > 0) {
      const std::string key = part.substr(0, sign);
      if (is_any(key, kValuesOfGoogle)) continue;
      if (!name.problem.emplace(key, part.substr(sign + 1)).second) {
        return invalid_argument("'" + key + "' stands there twice");
      }
      continue;
    }
    if (is_any(part, kWordsOfGoogle)) continue;
    if (whole_number(part)) {
      return invalid_argument(
          fmt::format("the value {0} has no name: write rows:{0} for a dim called rows. "
                      "ArgNames({{\"rows\", ...}}) of Google Benchmark does so",
                      part));
    }
    MGTUNE_ASSIGN(const bool names_operator, is_operator(part, catalog));
    if (!names_operator) {
      peer += (peer.empty() ? "" : "/") + part;
    } else if (name.op.empty()) {
      name.op = part;
    } else {
      return invalid_argument("the name has two operators, " + name.op + " and " + part);
    }
  }
  set_peer(std::move(peer), name);
  return name;
}

}  // namespace mgtune
