#include "compiler/ptxas_report.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <sstream>

#include "core/text.h"

namespace mgtune {
namespace {

// They are recognized by their words. Versions add new numbers, but the words stay the same.
constexpr std::array<std::string_view, 3> kObjections = {
    "wgmma.mma_async instructions are serialized", "'setmaxnreg' ignored",
    "warpgroup.wait is injected"};
constexpr std::size_t kMaxObjections = 3;  // an unrolled loop has one for each of its steps

// The number directly before `words`; -1 if `words` is not in the line.
int number_before(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == line.npos) return -1;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  return parse_number<int>(line.substr(begin, at - begin)).value_or(-1);
}

// The text after `words`, up to `end`; "" if `words` is not in the line.
std::string_view text_after(std::string_view line, std::string_view words, char end) {
  const std::size_t at = line.find(words);
  if (at == line.npos) return "";
  line.remove_prefix(at + words.size());
  return line.substr(0, line.find(end));
}

}  // namespace

std::vector<BuildKernel> parse_ptxas_report(std::string_view log) {
  std::vector<BuildKernel> entries;
  std::string function;  // whose properties follow
  int called_spill_bytes = 0;
  std::istringstream lines{std::string(log)};
  for (std::string line; std::getline(lines, line);) {
    if (const auto symbol = text_after(line, "Compiling entry function '", '\''); !symbol.empty()) {
      entries.emplace_back().symbol = symbol;
    }
    if (const auto name = text_after(line, "Function properties for ", ' '); !name.empty()) {
      function = name;
    }
    if (entries.empty()) continue;
    BuildKernel& entry = entries.back();
    if (const int bytes = number_before(line, " bytes spill stores"); bytes >= 0) {
      if (function == entry.symbol) {
        entry.spill_bytes = bytes;
      } else {
        called_spill_bytes += bytes;
      }
    }
    if (const int registers = number_before(line, " registers"); registers >= 0) {
      entry.registers = registers;
      entry.static_shared_bytes = std::max(0, number_before(line, " bytes smem"));
    }
  }
  for (BuildKernel& entry : entries) {
    if (entry.spill_bytes >= 0) entry.spill_bytes += called_spill_bytes;
  }
  return entries;
}

std::string report_of_kernel(std::string_view log, std::string_view symbol) {
  std::string report;
  bool any_kernel = false, is_of_kernel = false;
  std::istringstream lines{std::string(log)};
  for (std::string line; std::getline(lines, line);) {
    if (const auto entry = text_after(line, "Compiling entry function '", '\''); !entry.empty()) {
      any_kernel = true;
      is_of_kernel = entry == symbol;
    }
    const bool is_of_any =
        any_kernel &&
        (line.starts_with("ptxas info    : ") || line.starts_with("ptxas         .")) &&
        line.find("(C") == line.npos;
    const bool is_of_none =
        line.find_first_not_of(' ') == line.npos || line.find(" bytes gmem") != line.npos;
    if (!is_of_any && !is_of_none) return "";
    if (is_of_kernel) report.append(line).push_back('\n');
  }
  return report;
}

std::string ptxas_objections(std::string_view log) {
  std::string objections;
  std::istringstream lines{std::string(log)};
  std::size_t found = 0;
  for (std::string line; found < kMaxObjections && std::getline(lines, line);) {
    if (!line.starts_with("ptxas ")) continue;  // not a source's own words, quoted in a warning
    const auto says = [&line](std::string_view words) { return line.find(words) != line.npos; };
    if (std::ranges::none_of(kObjections, says)) continue;
    objections.append(objections.empty() ? "" : "\n").append(line);
    ++found;
  }
  return objections;
}

}  // namespace mgtune
