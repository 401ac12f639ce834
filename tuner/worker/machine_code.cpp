#include "worker/machine_code.h"

#include <elf.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "build/kernel_binaries.h"
#include "compiler/cubin.h"
#include "core/sha256.h"

namespace mgtune {
namespace {

bool is_code(const CubinSection& section) { return (section.head.sh_flags & SHF_EXECINSTR) != 0; }

int code_bytes_of_cubin(std::string_view text) {
  const std::optional<Cubin> cubin = read_cubin(text);
  if (!cubin) return -1;
  std::uint64_t bytes = 0;
  for (const CubinSection& section : cubin->sections) {
    if (is_code(section)) bytes += section.content.size();
  }
  return bytes > 0 && bytes <= INT_MAX ? static_cast<int>(bytes) : -1;
}

template <typename Value>
void append(const Value& value, std::string& text) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string_view part, std::string& text) {
  append(std::uint64_t{part.size()}, text);
  text += part;
}

// The name of a symbol without the kernel's name, which the names of the kernel's variables
// contain. A kernel name that is not mangled is removed only if it is the whole name, because it
// may be part of an unrelated word.
std::string without_kernel(std::string_view name, std::string_view kernel) {
  constexpr std::string_view kMangled = "_Z";
  if (!kernel.starts_with(kMangled)) return std::string(name == kernel ? "" : name);
  kernel.remove_prefix(kMangled.size());
  std::string text(name);
  for (std::size_t at = text.find(kernel); at != text.npos; at = text.find(kernel, at)) {
    text.erase(at, kernel.size());
  }
  return text;
}

// The symbols of the table, without the kernel's name in their names. The names matter, because
// programs and builds refer to variables by name. nullopt if the table is damaged.
std::optional<std::string> symbols_of(const Cubin& cubin, const CubinSection& table,
                                      std::string_view kernel) {
  if (table.head.sh_link >= cubin.sections.size()) return std::nullopt;
  const std::string_view names = cubin.sections[table.head.sh_link].content;
  std::string text;
  for (std::size_t at = 0; at < table.content.size(); at += sizeof(Elf64_Sym)) {
    auto symbol = read_at<Elf64_Sym>(table.content, at);
    if (!symbol || symbol->st_name >= names.size()) return std::nullopt;
    append_text(without_kernel(text_at(names, symbol->st_name), kernel), text);
    symbol->st_name = 0;
    append(*symbol, text);
  }
  return text;
}

// The content of the cubin without the kernel's name and without offsets in the file. "" in the
// cases of machine_code_identity().
std::string nameless_cubin(std::string_view text) {
  const std::optional<Cubin> cubin = read_cubin(text);
  if (!cubin || std::ranges::count_if(cubin->sections, is_code) != 1) return "";
  const std::string_view code = std::ranges::find_if(cubin->sections, is_code)->name;
  constexpr std::string_view kPrefix = ".text.";
  if (!code.starts_with(kPrefix)) return "";
  const std::string_view kernel = code.substr(kPrefix.size());
  std::string all;
  append(cubin->head.e_ident, all);
  append(cubin->head.e_flags, all);
  for (const CubinSection& section : cubin->sections) {
    if (section.head.sh_type == SHT_STRTAB) continue;
    std::string name(section.name);
    if (name.ends_with(kernel)) name.resize(name.size() - kernel.size());
    append_text(name, all);
    Elf64_Shdr head = section.head;
    head.sh_name = 0;
    head.sh_offset = 0;
    append(head, all);
    if (section.head.sh_type != SHT_SYMTAB) {
      append_text(section.content, all);
      continue;
    }
    const std::optional<std::string> symbols = symbols_of(*cubin, section, kernel);
    if (!symbols) return "";
    append_text(*symbols, all);
  }
  return all;
}

}  // namespace

int machine_code_bytes(std::string_view binary) {
  const Result<std::vector<std::string>> cubins = split_binaries(binary);
  if (!cubins.ok()) return -1;
  int sum = 0;
  for (const std::string& cubin : *cubins) {
    const int bytes = code_bytes_of_cubin(cubin);
    if (bytes < 0) return -1;
    sum += bytes;
  }
  return sum;
}

std::string machine_code_identity(std::string_view binary) {
  const Result<std::vector<std::string>> cubins = split_binaries(binary);
  if (!cubins.ok()) return "";
  std::string all;
  for (const std::string& cubin : *cubins) {
    const std::string own = nameless_cubin(cubin);
    if (own.empty()) return "";
    append_text(own, all);
  }
  return sha256_hex(all);
}

}  // namespace mgtune
