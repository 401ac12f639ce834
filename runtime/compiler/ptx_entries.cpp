#include "compiler/ptx_entries.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdint>
#include <set>
#include <unordered_map>

namespace mgtune {
namespace {

// Bulk copies make ptxas note a requirement in a part of the cubin that all kernels share.
constexpr std::string_view kNoted = "cp.async.bulk";

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

enum class Memory : std::uint8_t { global_or_constant, shared, dynamic_shared };

using Variables = std::unordered_map<std::string_view, Memory>;

// What the text of a kernel mentions.
struct Uses {
  bool call = false, bulk_copy = false, global_or_constant = false, dynamic_shared = false;
  bool own_shared = false;                 // static memory that no other kernel has
  std::set<std::string_view> shared = {};  // static memory that other kernels have too
};

Uses uses_of(std::string_view text, const Variables& variables) {
  Uses uses;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_of_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && is_of_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    uses.call = uses.call || word == "call";
    uses.bulk_copy = uses.bulk_copy || text.substr(at).starts_with(kNoted);
    uses.own_shared = uses.own_shared || text.substr(at).starts_with(kOwnShared);
    if (const auto found = variables.find(word); found != variables.end()) {
      uses.global_or_constant |= found->second == Memory::global_or_constant;
      if (found->second == Memory::shared) uses.shared.insert(word);
      uses.dynamic_shared |= found->second == Memory::dynamic_shared;
    }
    at = end;
  }
  return uses;
}

void add_declaration(std::string_view line, Variables& variables) {
  if (line.find(".shared ") != line.npos) {
    variables[declared(line)] =
        line.starts_with(".extern") ? Memory::dynamic_shared : Memory::shared;
  } else if (line.find(".global ") != line.npos || line.find(".const ") != line.npos) {
    variables[declared(line)] = Memory::global_or_constant;
  }
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
  Variables variables;
  std::size_t at = 0;
  while (at < ptx.size()) {
    const std::size_t end = std::min(ptx.find('\n', at), ptx.size());
    const std::string_view line = ptx.substr(at, end - at);
    const std::size_t word = line.find(kEntry);
    if (line.starts_with('.') && (word != line.npos || line.find(".func ") != line.npos)) {
      // A declaration without a body ends with a semicolon. A body ends with a brace on its own.
      const std::size_t body = ptx.find("\n{", at), stop = ptx.find(";\n", at);
      const std::size_t close = body == ptx.npos || stop < body ? stop : ptx.find("\n}", body);
      const std::size_t next = close == ptx.npos ? ptx.size() : close + 2;
      if (word != line.npos) {
        PtxEntry& entry = entries.emplace_back();
        const std::string_view rest = line.substr(word + kEntry.size());
        entry.symbol = rest.substr(0, rest.find_first_of("( \t"));
        entry.text = ptx.substr(at + word, next - at - word);
      }
      at = next;
      continue;
    }
    if (line.starts_with('.')) add_declaration(line, variables);
    at = end + 1;
  }

  std::vector<Uses> uses;
  uses.reserve(entries.size());
  for (const PtxEntry& entry : entries) uses.push_back(uses_of(entry.text, variables));
  const auto dynamic = std::ranges::count_if(
      variables, [](const auto& one) { return one.second == Memory::dynamic_shared; });
  const bool any_copies = std::ranges::any_of(uses, &Uses::bulk_copy);
  // Static memory that two kernels have is at the same place in both. If it is all that they have,
  // it is where it would be in a kernel alone.
  std::set<std::string_view> moved;
  for (const Uses& kernel : uses) {
    if (kernel.own_shared || kernel.shared.size() > 1) {
      moved.insert(kernel.shared.begin(), kernel.shared.end());
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].stands_alone = !uses[i].call && !uses[i].global_or_constant;
    // Dynamic memory that one kernel has changes the layout of static memory in all.
    entries[i].is_independent =
        dynamic <= 1 && uses[i].dynamic_shared == (dynamic > 0) &&
        uses[i].bulk_copy == any_copies &&
        std::ranges::none_of(uses[i].shared, [&](auto name) { return moved.contains(name); });
    entries[i].bytes = bytes_without_shared(entries[i].text);
  }
  return entries;
}

}  // namespace mgtune
