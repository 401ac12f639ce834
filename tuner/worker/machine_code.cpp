#include "worker/machine_code.h"

#include <elf.h>

#include <climits>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "build/kernel_binaries.h"

namespace mgtune {
namespace {

constexpr Elf64_Half kCudaMachine = 190;  // EM_CUDA, which older versions of <elf.h> lack

// The struct at this place; nullopt if the file ends before.
template <typename Struct>
std::optional<Struct> read_at(std::string_view file, std::uint64_t place) {
  if (place > file.size() || file.size() - place < sizeof(Struct)) return std::nullopt;
  Struct value;
  std::memcpy(&value, file.data() + place, sizeof value);
  return value;
}

int code_bytes_of_cubin(std::string_view cubin) {
  const auto head = read_at<Elf64_Ehdr>(cubin, 0);
  if (!head || !cubin.starts_with(ELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64 ||
      head->e_machine != kCudaMachine || head->e_shentsize < sizeof(Elf64_Shdr)) {
    return -1;
  }
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < head->e_shnum; ++i) {
    const auto section = read_at<Elf64_Shdr>(cubin, head->e_shoff + i * head->e_shentsize);
    if (!section) return -1;
    if ((section->sh_flags & SHF_EXECINSTR) == 0) continue;
    if (section->sh_size > cubin.size()) return -1;
    bytes += section->sh_size;
  }
  return bytes > 0 && bytes <= INT_MAX ? static_cast<int>(bytes) : -1;
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

}  // namespace mgtune
