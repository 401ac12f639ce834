// Cubin: the sections of a cubin, which is an ELF file with code for a GPU. Pure.

#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace mgtune {

struct CubinSection {
  Elf64_Shdr head;
  std::string_view name;
  std::string_view content;  // "" if it has none in the file
};

struct Cubin {
  Elf64_Ehdr head;
  std::vector<CubinSection> sections;
};

// nullopt if the text is not a cubin, or is damaged. The result points into the text.
std::optional<Cubin> read_cubin(std::string_view text);

// The struct at this place of a file or section; nullopt if the bytes end before the struct does.
template <typename Struct>
std::optional<Struct> read_at(std::string_view bytes, std::uint64_t place) {
  if (place > bytes.size() || bytes.size() - place < sizeof(Struct)) return std::nullopt;
  Struct value;
  std::memcpy(&value, bytes.data() + place, sizeof value);
  return value;
}

// The text of a string table that begins at this place; "" if the table ends before.
std::string_view text_at(std::string_view table, std::uint64_t place);

}  // namespace mgtune
