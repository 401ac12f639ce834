#include "compiler/cubin.h"

namespace mgtune {
namespace {

constexpr Elf64_Half kCudaMachine = 190;  // EM_CUDA, which older versions of <elf.h> lack

}  // namespace

std::string_view text_at(std::string_view table, std::uint64_t place) {
  if (place >= table.size()) return "";
  table.remove_prefix(place);
  return table.substr(0, table.find('\0'));
}

std::optional<Cubin> read_cubin(std::string_view text) {
  const auto head = read_at<Elf64_Ehdr>(text, 0);
  if (!head || !text.starts_with(ELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64 ||
      head->e_machine != kCudaMachine || head->e_shentsize < sizeof(Elf64_Shdr)) {
    return std::nullopt;
  }
  Cubin cubin{*head, {}};
  for (std::uint64_t i = 0; i < head->e_shnum; ++i) {
    const auto section = read_at<Elf64_Shdr>(text, head->e_shoff + i * head->e_shentsize);
    if (!section) return std::nullopt;
    CubinSection& read = cubin.sections.emplace_back(CubinSection{*section, {}, {}});
    if (section->sh_type == SHT_NOBITS) continue;
    if (section->sh_offset > text.size() || text.size() - section->sh_offset < section->sh_size) {
      return std::nullopt;
    }
    read.content = text.substr(section->sh_offset, section->sh_size);
  }
  if (head->e_shstrndx >= cubin.sections.size()) return std::nullopt;
  const std::string_view names = cubin.sections[head->e_shstrndx].content;
  for (CubinSection& section : cubin.sections) {
    if (section.head.sh_name >= names.size()) return std::nullopt;
    section.name = text_at(names, section.head.sh_name);
  }
  return cubin;
}

}  // namespace mgtune
