#include "compiler/ptx_entries.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cctype>
#include <climits>
#include <cstdint>
#include <set>
#include <unordered_map>

namespace mgtune {
namespace {

// The beginnings of instructions that ptxas notes in a part of the cubin that all kernels share.
constexpr std::array<std::string_view, 11> kNoted = {
    "cp.async.bulk", "wgmma.", "setmaxnreg.", "tcgen05.", "tex.", "tld4.",
    "txq.",          "suld.",  "sust.",       "sured.",   "suq."};

// The memory of mg::dynamic_shared(). If kernels declare their dynamic memory in another way, the
// declarations may have different alignments, and NVRTC takes the first one for the whole program.
constexpr std::string_view kDynamicShared = "_ZN2mg17mg_dynamic_sharedE";

// Declares static shared memory in the body of the only kernel that has it, behind a comment.
constexpr std::string_view kOwnShared = "shared .align";
constexpr std::string_view kComment = "// demoted variable";

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

// The variable that a line outside of kernels declares: the last word before "[8]", " = 1" or ";".
std::string_view declared(std::string_view line) {
  line = line.substr(0, line.find_first_of("[=;"));
  while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
  const std::size_t space = line.rfind(' ');
  return space == line.npos ? "" : line.substr(space + 1);
}

enum class NameKind : std::uint8_t { global_or_constant, shared, dynamic_shared, function };

using Names = std::unordered_map<std::string_view, NameKind>;

// What the text of a kernel mentions.
struct Uses {
  bool function = false, global_or_constant = false, dynamic_shared = false;
  bool own_shared = false;                 // static memory that no other kernel has
  std::set<std::string_view> shared = {};  // static memory that other kernels have too
  std::bitset<kNoted.size()> noted = {};
};

Uses uses_of(std::string_view text, const Names& names) {
  Uses uses;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_of_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && is_of_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at), rest = text.substr(at);
    for (std::size_t i = 0; i < kNoted.size(); ++i) {
      if (rest.starts_with(kNoted[i])) uses.noted.set(i);
    }
    uses.function |= word == "call";
    uses.own_shared |= rest.starts_with(kOwnShared);
    // PTX in a source may declare variables in a kernel.
    uses.global_or_constant |= rest.starts_with("global .") || rest.starts_with("const .");
    if (const auto found = names.find(word); found != names.end()) {
      uses.function |= found->second == NameKind::function;
      uses.global_or_constant |= found->second == NameKind::global_or_constant;
      uses.dynamic_shared |= found->second == NameKind::dynamic_shared;
      if (found->second == NameKind::shared) uses.shared.insert(word);
    }
    at = end;
  }
  return uses;
}

void add_declaration(std::string_view line, Names& names) {
  if (line.find(".shared ") != line.npos) {
    names[declared(line)] =
        line.starts_with(".extern") ? NameKind::dynamic_shared : NameKind::shared;
  } else if (line.find(".global ") != line.npos || line.find(".const ") != line.npos) {
    names[declared(line)] = NameKind::global_or_constant;
  }
}

// The name of a function in its first line: ".func f(", or ".func (.param .b32 r) f(".
std::string_view function_of(std::string_view line) {
  line.remove_prefix(line.find(".func") + 5);
  if (line.find_first_not_of(' ') == line.find('(')) {
    line.remove_prefix(std::min(line.find(')'), line.size() - 1) + 1);
  }
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line.substr(0, line.find_first_of("( \t"));
}

int bytes_without_shared(std::string_view text) {
  std::size_t bytes = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    const bool is_left_out =
        line.find(kOwnShared) != line.npos || line.find(kComment) != line.npos || line == "\n";
    if (!is_left_out) bytes += end;
    text.remove_prefix(end);
  }
  return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX));
}

}  // namespace

std::vector<PtxEntry> parse_ptx(std::string_view ptx) {
  constexpr std::string_view kEntry = ".entry ";
  std::vector<PtxEntry> entries;
  Names names;
  for (std::size_t at = 0; at < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', at), ptx.size());
    const std::string_view line = ptx.substr(at, end - at);
    const std::size_t word = line.find(kEntry);
    const bool is_function = word == line.npos && line.find(".func ") != line.npos;
    if (!line.starts_with('.') || (word == line.npos && !is_function)) {
      if (line.starts_with('.')) add_declaration(line, names);
      at = end + 1;
      continue;
    }
    // A declaration without a body ends with a semicolon. A body ends with a brace on its own line.
    const std::size_t body = ptx.find("\n{", at), stop = ptx.find(";\n", at);
    const std::size_t close = body == ptx.npos || stop < body ? stop : ptx.find("\n}", body);
    const std::size_t next = close == ptx.npos ? ptx.size() : close + 2;
    if (is_function) {
      names[function_of(line)] = NameKind::function;
    } else {
      PtxEntry& entry = entries.emplace_back();
      const std::string_view rest = line.substr(word + kEntry.size());
      entry.symbol = rest.substr(0, rest.find_first_of("( \t"));
      entry.text = ptx.substr(at + word, next - at - word);
    }
    at = next;
  }

  std::vector<Uses> uses;
  uses.reserve(entries.size());
  for (const PtxEntry& entry : entries) uses.push_back(uses_of(entry.text, names));
  const auto dynamic = std::ranges::count_if(
      names, [](const auto& one) { return one.second == NameKind::dynamic_shared; });
  const bool is_known = dynamic == 0 || (dynamic == 1 && names.contains(kDynamicShared));
  const bool calls = std::ranges::any_of(uses, &Uses::function);
  std::bitset<kNoted.size()> noted;
  // A static array of two kernels is at the same place in both. If a kernel has no other static
  // memory, the array is at this place also if the kernel is compiled alone.
  std::set<std::string_view> moved;
  for (const Uses& kernel : uses) {
    noted |= kernel.noted;
    if (kernel.own_shared || kernel.shared.size() > 1) {
      moved.insert(kernel.shared.begin(), kernel.shared.end());
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].stands_alone = !uses[i].function && !uses[i].global_or_constant;
    // If one kernel has dynamic memory, the layout of static memory changes in all of them. If one
    // kernel calls functions, these are noted for all of them.
    entries[i].is_independent =
        is_known && !calls && uses[i].dynamic_shared == (dynamic > 0) && uses[i].noted == noted &&
        std::ranges::none_of(uses[i].shared, [&](auto name) { return moved.contains(name); });
    entries[i].bytes = bytes_without_shared(entries[i].text);
  }
  return entries;
}

}  // namespace mgtune
