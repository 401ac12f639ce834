#include "compiler/kernel_cubin.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "compiler/cubin.h"

namespace mgtune {
namespace {

// The sections of the new cubin, in the order of ptxas. For older architectures ptxas writes
// constants before the code. The name of a kernel's section ends with the kernel's symbol.
struct SectionKind {
  std::string_view name;
  bool is_of_kernel = false;
};
constexpr std::array<SectionKind, 21> kKept = {{{""},
                                                {".shstrtab"},
                                                {".strtab"},
                                                {".symtab"},
                                                {".debug_frame"},
                                                {".note.nv.tkinfo"},
                                                {".note.nv.cuinfo"},
                                                {".nv.info"},
                                                {".nv.compat"},
                                                {".nv.info.", true},
                                                {".nv.callgraph"},
                                                {".nv.rel.action"},
                                                {".rel.text.", true},
                                                {".rela.text.", true},
                                                {".rel.debug_frame"},
                                                {".rela.debug_frame"},
                                                {".text.", true},
                                                {".nv.shared.", true},
                                                {".nv.shared.reserved.0"},
                                                {".nv.constant2.", true},
                                                {".nv.constant0.", true}}};

// Sections with variables, and with constants that are addresses of variables.
constexpr std::array<std::string_view, 8> kOfVariables = {
    ".nv.global",    ".nv.global.init",   ".rel.nv.global.init", ".rela.nv.global.init",
    ".nv.constant4", ".rel.nv.constant4", ".rela.nv.constant4",  ".nv.constant3"};

constexpr std::size_t kUnknown = kKept.size(), kLeftOut = kKept.size() + 1;
constexpr std::size_t kCode = 16;  // the place of ".text."
static_assert(kKept[kCode].name == ".text.");

// The place in kKept.
std::size_t kind_of(std::string_view name, std::string_view kernel) {
  if (std::ranges::find(kOfVariables, name) != kOfVariables.end()) return kLeftOut;
  for (std::size_t i = 0; i < kKept.size(); ++i) {
    if (!kKept[i].is_of_kernel && name == kKept[i].name) return i;
  }
  for (std::size_t i = 0; i < kKept.size(); ++i) {
    if (!kKept[i].is_of_kernel || !name.starts_with(kKept[i].name)) continue;
    return name.substr(kKept[i].name.size()) == kernel ? i : kLeftOut;
  }
  return kUnknown;
}

// Attributes in the sections .nv.info have four bytes: the first one says how the attribute is
// read, the second one what it is. If the first one is 4, the other two are a size, and as many
// bytes follow.
constexpr std::uint8_t kAttributeWithBytes = 4;
// In .nv.info, one for each kernel, beginning with its symbol: its registers, the size of its
// frame, and the smallest and largest size of its stack.
constexpr std::array<std::uint8_t, 4> kOfOneKernel = {0x2f, 0x11, 0x12, 0x23};
// In the kernel's own section: where its parameters are, beginning with a section's symbol.
constexpr std::uint8_t kParameterBank = 0x0a;
// In the kernel's own section, without symbols: the sizes of blocks and clusters, parameters,
// registers, exits, stacks, barriers, and places of instructions that a driver has to know.
constexpr std::array<std::uint8_t, 29> kWithoutSymbols = {
    0x04, 0x05, 0x10, 0x17, 0x19, 0x1b, 0x1c, 0x1d, 0x1e, 0x25, 0x28, 0x29, 0x2a, 0x31, 0x35,
    0x36, 0x37, 0x38, 0x39, 0x3d, 0x3e, 0x3f, 0x44, 0x4a, 0x4c, 0x50, 0x54, 0x55, 0x5f};

constexpr std::uint64_t kMostAligned = 4096;  // a larger one is damage
constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};
constexpr std::uint32_t kSymbolBits = 0xffffff;  // of a code section's sh_info; registers above

template <typename Value>
void append(const Value& value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint64_t aligned(std::uint64_t value, std::uint64_t alignment) {
  return alignment < 2 ? value : (value + alignment - 1) / alignment * alignment;
}

struct Section {
  Elf64_Shdr head;
  std::string name;
  std::string content;
  std::uint32_t old_index = 0;
};

struct Symbol {
  Elf64_Sym symbol;
  std::string name;
};

// Builds the new cubin step by step. A step returns false if it meets something that it does not
// know.
class Cut {
 public:
  Cut(const Cubin& cubin, std::string_view kernel) : old_(cubin), kernel_(kernel) {}

  bool keep_sections();
  bool keep_symbols();
  bool rewrite_contents();
  std::string written(std::string_view text);

 private:
  std::uint32_t new_section(std::uint32_t old_index) const {
    const auto found = std::ranges::find(sections_, old_index, &Section::old_index);
    return found == sections_.end() ? kNoIndex
                                    : static_cast<std::uint32_t>(found - sections_.begin());
  }
  std::uint32_t new_symbol(std::uint32_t old_index) const {
    const auto found = symbol_places_.find(old_index);
    return found == symbol_places_.end() ? kNoIndex : found->second;
  }
  Section* find(std::string_view name) {
    const auto found = std::ranges::find(sections_, name, &Section::name);
    return found == sections_.end() ? nullptr : &*found;
  }

  int rank_of(const Symbol& symbol) const;
  bool keeps(const Symbol& symbol) const;
  bool cut_infos(Section& section);
  bool renumber_parameter_bank(Section& section);
  bool cut_frames();
  bool renumber_relocations(Section& section, std::uint64_t first, std::uint64_t end);
  bool renumber_links();
  void write_tables();
  std::vector<Elf64_Phdr> segments(std::string_view text) const;

  const Cubin& old_;
  std::string_view kernel_;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
  std::map<std::uint32_t, std::uint32_t> symbol_places_;  // old and new
  std::uint32_t old_kernel_symbol_ = 0;
};

bool Cut::keep_sections() {
  std::vector<std::pair<std::size_t, Section>> kept;
  std::size_t codes = 0;  // sections with code so far
  for (std::uint32_t i = 0; i < old_.sections.size(); ++i) {
    const CubinSection& section = old_.sections[i];
    const std::size_t kind = kind_of(section.name, kernel_);
    if (kind == kUnknown || section.head.sh_addralign > kMostAligned) return false;
    codes += section.name.starts_with(".text.") ? 1 : 0;
    if (kind == kLeftOut) continue;
    const bool is_early = codes == 0 && section.name.starts_with(".nv.constant");
    kept.emplace_back(
        is_early ? 2 * kCode - 1 : 2 * kind,
        Section{section.head, std::string(section.name), std::string(section.content), i});
  }
  std::ranges::stable_sort(kept, {}, [](const auto& one) { return one.first; });
  for (auto& [rank, section] : kept) sections_.push_back(std::move(section));
  return find(".text." + std::string(kernel_)) != nullptr && find(".symtab") != nullptr &&
         find(".strtab") != nullptr && find(".shstrtab") != nullptr;
}

// The place of a symbol in the order of ptxas. The symbol of constants comes early if they are
// written before the code, otherwise last.
int Cut::rank_of(const Symbol& symbol) const {
  const Elf64_Sym& head = symbol.symbol;
  if (head.st_shndx == SHN_UNDEF) return symbol.name.empty() ? 7 : 4;
  if (symbol.name == kernel_) return 1;
  if (ELF64_ST_TYPE(head.st_info) != STT_SECTION) return 5;
  const std::string_view section = old_.sections[head.st_shndx].name;
  if (section.starts_with(".note")) return 0;
  if (section.starts_with(".text.")) return 2;
  if (section.starts_with(".nv.shared.")) return 3;
  if (section.starts_with(".nv.constant")) {
    const auto of_kernel = [this](std::string_view prefix) {
      return std::ranges::find(sections_, std::string(prefix).append(kernel_), &Section::name);
    };
    return of_kernel(".nv.constant0.") < of_kernel(".text.") ? 6 : 11;
  }
  return section == ".debug_frame" ? 8 : section == ".nv.callgraph" ? 9 : 10;
}

// An undefined symbol without a name stands for shared memory.
bool Cut::keeps(const Symbol& symbol) const {
  const Elf64_Sym& head = symbol.symbol;
  if (head.st_shndx == SHN_UNDEF) {
    if (!symbol.name.empty()) return symbol.name.starts_with(".nv.reservedSmem");
    return std::ranges::find(sections_, ".nv.shared." + std::string(kernel_), &Section::name) !=
           sections_.end();
  }
  if (head.st_shndx >= old_.sections.size() || new_section(head.st_shndx) == kNoIndex) return false;
  const auto type = ELF64_ST_TYPE(head.st_info);
  return type == STT_SECTION || type == STT_FUNC ||
         old_.sections[head.st_shndx].name == ".nv.shared.reserved.0";
}

// ptxas puts functions of its own behind the code of a kernel, for example for divisions, and
// numbers them over all kernels.
bool rename_function(std::string& name, std::size_t& functions) {
  constexpr std::string_view kPrefix = "$__internal_";
  if (!name.starts_with(kPrefix)) return true;
  const std::size_t end = name.find('_', kPrefix.size());
  if (end == std::string::npos) return false;
  name.replace(kPrefix.size(), end - kPrefix.size(), std::to_string(functions++));
  return true;
}

bool Cut::keep_symbols() {
  const std::string table = find(".symtab")->content;
  const std::string_view names = old_.sections[find(".strtab")->old_index].content;
  std::vector<std::tuple<int, std::uint32_t, Symbol>> kept;
  for (std::uint32_t i = 1; i * sizeof(Elf64_Sym) < table.size(); ++i) {
    const auto head = read_at<Elf64_Sym>(table, i * sizeof(Elf64_Sym));
    if (!head) return false;
    const Symbol symbol{*head, std::string(text_at(names, head->st_name))};
    if (!keeps(symbol)) continue;
    if (symbol.name == kernel_) old_kernel_symbol_ = i;
    kept.emplace_back(rank_of(symbol), i, symbol);
  }
  std::ranges::stable_sort(kept, {}, [](const auto& one) { return std::get<0>(one); });
  symbols_.push_back({});
  symbol_places_[0] = 0;
  std::size_t functions = 0;
  for (const auto& [rank, old_index, symbol] : kept) {
    symbol_places_[old_index] = static_cast<std::uint32_t>(symbols_.size());
    symbols_.push_back(symbol);
    if (!rename_function(symbols_.back().name, functions)) return false;
    Elf64_Section& section = symbols_.back().symbol.st_shndx;
    if (section != SHN_UNDEF) section = static_cast<Elf64_Section>(new_section(section));
  }
  return old_kernel_symbol_ != 0;
}

bool Cut::rewrite_contents() {
  for (Section& section : sections_) {
    if (section.name == ".nv.info" && !cut_infos(section)) return false;
    if (section.name.starts_with(".nv.info.") && !renumber_parameter_bank(section)) return false;
    if (!section.name.starts_with(".rel.text.") && !section.name.starts_with(".rela.text."))
      continue;
    if (!renumber_relocations(section, 0, ~std::uint64_t{0})) return false;
  }
  return cut_frames() && renumber_links();
}

bool Cut::cut_infos(Section& section) {
  std::string kept;
  for (std::size_t at = 0; at < section.content.size();) {
    const auto head = read_at<std::array<std::uint8_t, 4>>(section.content, at);
    const auto symbol = read_at<std::uint32_t>(section.content, at + 4);
    if (!head || !symbol || (*head)[0] != kAttributeWithBytes) return false;
    if (std::ranges::find(kOfOneKernel, (*head)[1]) == kOfOneKernel.end()) return false;
    const std::size_t bytes = 4 + (*head)[2] + 256U * (*head)[3];
    if (bytes < 8 || section.content.size() - at < bytes) return false;
    if (const std::uint32_t place = new_symbol(*symbol); place != kNoIndex) {
      kept += section.content.substr(at, 4);
      append(place, kept);
      kept += section.content.substr(at + 8, bytes - 8);
    }
    at += bytes;
  }
  section.content = std::move(kept);
  return true;
}

bool Cut::renumber_parameter_bank(Section& section) {
  for (std::size_t at = 0; at < section.content.size();) {
    const auto head = read_at<std::array<std::uint8_t, 4>>(section.content, at);
    if (!head) return false;
    if ((*head)[1] == kParameterBank) {
      const auto symbol = read_at<std::uint32_t>(section.content, at + 4);
      const std::uint32_t place = symbol ? new_symbol(*symbol) : kNoIndex;
      if (place == kNoIndex) return false;
      std::memcpy(section.content.data() + at + 4, &place, sizeof place);
    } else if (std::ranges::find(kWithoutSymbols, (*head)[1]) == kWithoutSymbols.end()) {
      return false;
    }
    at += 4;
    if ((*head)[0] == kAttributeWithBytes) at += (*head)[2] + 256U * (*head)[3];
  }
  return true;
}

// Keeps the relocations of the bytes from `first` to `end`, which then begin at 0.
bool Cut::renumber_relocations(Section& section, std::uint64_t first, std::uint64_t end) {
  const std::size_t bytes = section.head.sh_entsize;
  if (bytes < sizeof(Elf64_Rel)) return section.content.empty();
  std::string kept;
  for (std::size_t at = 0; at + bytes <= section.content.size(); at += bytes) {
    auto entry = *read_at<Elf64_Rel>(section.content, at);
    if (entry.r_offset < first || entry.r_offset >= end) continue;
    const std::uint32_t symbol = new_symbol(static_cast<std::uint32_t>(ELF64_R_SYM(entry.r_info)));
    if (symbol == kNoIndex) return false;
    entry.r_offset -= first;
    entry.r_info = ELF64_R_INFO(std::uint64_t{symbol}, ELF64_R_TYPE(entry.r_info));
    append(entry, kept);
    kept += section.content.substr(at + sizeof entry, bytes - sizeof entry);
  }
  section.content = std::move(kept);
  return true;
}

// The entries of a kernel's frame, and those of the frames of its functions, stand together. Each
// one refers to a common entry before it. All of them have 64-bit lengths.
bool Cut::cut_frames() {
  Section* const frames = find(".debug_frame");
  Section* relocations = find(".rela.debug_frame");
  if (relocations == nullptr) relocations = find(".rel.debug_frame");
  if (frames == nullptr || relocations == nullptr) return frames == relocations;
  const std::size_t bytes = relocations->head.sh_entsize;
  if (bytes < sizeof(Elf64_Rel)) return false;
  std::set<std::uint64_t> addresses;  // where the kernel's address is put
  for (std::size_t at = 0; at + bytes <= relocations->content.size(); at += bytes) {
    const auto entry = *read_at<Elf64_Rel>(relocations->content, at);
    if (ELF64_R_SYM(entry.r_info) == old_kernel_symbol_) addresses.insert(entry.r_offset);
  }
  constexpr std::uint64_t kHead = 12;  // four bytes of ff, and the length
  constexpr std::uint64_t kIsCommon = ~std::uint64_t{0};
  std::uint64_t first = kIsCommon, end = 0;
  std::vector<std::uint64_t> places;  // of references to common entries
  for (std::uint64_t at = 0; at < frames->content.size();) {
    const auto escape = read_at<std::uint32_t>(frames->content, at);
    const auto length = read_at<std::uint64_t>(frames->content, at + 4);
    const auto common = read_at<std::uint64_t>(frames->content, at + kHead);
    if (!escape || *escape != ~std::uint32_t{0} || !length || !common) return false;
    const std::uint64_t next = at + kHead + *length;
    if (*length < 8 || *length > frames->content.size() || next > frames->content.size())
      return false;
    const auto address = addresses.lower_bound(at);
    if (*common != kIsCommon && address != addresses.end() && *address < next) {
      if (*common > at || *common < (places.empty() ? 0 : first)) return false;
      first = std::min(first, *common);
      end = next;
      places.push_back(at + kHead);
    }
    at = next;
  }
  for (const std::uint64_t place : places) {
    const std::uint64_t common = *read_at<std::uint64_t>(frames->content, place) - first;
    std::memcpy(frames->content.data() + place, &common, sizeof common);
  }
  if (places.empty()) return false;
  frames->content = frames->content.substr(first, end - first);
  return renumber_relocations(*relocations, first, end);
}

bool Cut::renumber_links() {
  for (Section& section : sections_) {
    Elf64_Shdr& head = section.head;
    if (head.sh_link != 0) head.sh_link = new_section(head.sh_link);
    if (section.name.starts_with(".text.")) {
      const std::uint32_t symbol = new_symbol(head.sh_info & kSymbolBits);
      if (symbol == kNoIndex) return false;
      head.sh_info = (head.sh_info & ~kSymbolBits) | symbol;
    } else if (head.sh_type != SHT_SYMTAB && head.sh_info != 0) {
      head.sh_info = new_section(head.sh_info);
    }
    if (head.sh_link == kNoIndex || head.sh_info == kNoIndex) return false;
  }
  return true;
}

void Cut::write_tables() {
  std::string names(1, '\0'), table;
  for (Symbol& symbol : symbols_) {
    symbol.symbol.st_name = symbol.name.empty() ? 0 : static_cast<Elf64_Word>(names.size());
    if (!symbol.name.empty()) names.append(symbol.name).push_back('\0');
    append(symbol.symbol, table);
  }
  find(".strtab")->content = std::move(names);
  find(".symtab")->content = std::move(table);
  find(".symtab")->head.sh_info = static_cast<Elf64_Word>(symbols_.size());
  std::string section_names(1, '\0');
  for (Section& section : sections_) {
    section.head.sh_name = section.name.empty() ? 0 : static_cast<Elf64_Word>(section_names.size());
    if (!section.name.empty()) section_names.append(section.name).push_back('\0');
  }
  find(".shstrtab")->content = std::move(section_names);
}

// The segments of the old cubin, each with the sections that are left of it. Sections without
// content, which are shared memory, belong to the segment that can be written.
std::vector<Elf64_Phdr> Cut::segments(std::string_view text) const {
  std::vector<Elf64_Phdr> kept;
  for (std::uint64_t i = 0; i < old_.head.e_phnum; ++i) {
    auto segment = read_at<Elf64_Phdr>(text, old_.head.e_phoff + i * old_.head.e_phentsize);
    if (!segment) return {};
    if (segment->p_offset == old_.head.e_phoff) {  // the list of segments itself
      segment->p_offset = 0;
      kept.push_back(*segment);
      continue;
    }
    std::uint64_t first = 0, end = 0, empty_bytes = 0;
    bool has_any = false;
    for (const Section& section : sections_) {
      if ((section.head.sh_flags & SHF_ALLOC) == 0) continue;
      const bool is_empty = section.head.sh_type == SHT_NOBITS;
      const std::uint64_t old = old_.sections[section.old_index].head.sh_offset;
      const bool is_here =
          is_empty ? (segment->p_flags & PF_W) != 0
                   : old >= segment->p_offset && old < segment->p_offset + segment->p_filesz;
      if (!is_here) continue;
      if (!has_any) first = end = section.head.sh_offset;
      has_any = true;
      if (is_empty) empty_bytes += section.head.sh_size;
      if (!is_empty) end = section.head.sh_offset + section.head.sh_size;
    }
    if (!has_any) continue;
    segment->p_offset = first;
    segment->p_filesz = end - first;
    segment->p_memsz = segment->p_filesz + empty_bytes;
    kept.push_back(*segment);
  }
  return kept;
}

std::string Cut::written(std::string_view text) {
  write_tables();
  std::string bytes(sizeof(Elf64_Ehdr), '\0');
  for (Section& section : sections_) {
    if (section.name.empty()) continue;
    bytes.resize(aligned(bytes.size(), section.head.sh_addralign));
    section.head.sh_offset = bytes.size();
    if (section.head.sh_type == SHT_NOBITS) continue;
    section.head.sh_size = section.content.size();
    bytes += section.content;
  }
  bytes.resize(aligned(bytes.size(), 8));
  Elf64_Ehdr head = old_.head;
  head.e_shnum = static_cast<Elf64_Half>(sections_.size());
  head.e_shstrndx = static_cast<Elf64_Half>(find(".shstrtab") - sections_.data());
  head.e_shoff = bytes.size();
  for (const Section& section : sections_) append(section.head, bytes);
  std::vector<Elf64_Phdr> kept = segments(text);
  head.e_phnum = static_cast<Elf64_Half>(kept.size());
  head.e_phoff = bytes.size();
  for (Elf64_Phdr& segment : kept) {
    if (segment.p_offset == 0) {
      segment.p_offset = head.e_phoff;
      segment.p_filesz = segment.p_memsz = kept.size() * sizeof(Elf64_Phdr);
    }
    append(segment, bytes);
  }
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

}  // namespace

std::optional<std::string> kernel_cubin(std::string_view cubin, std::string_view kernel) {
  const std::optional<Cubin> old = read_cubin(cubin);
  if (!old || old->head.e_shentsize != sizeof(Elf64_Shdr)) return std::nullopt;
  Cut cut(*old, kernel);
  if (!cut.keep_sections() || !cut.keep_symbols() || !cut.rewrite_contents()) return std::nullopt;
  return cut.written(cubin);
}

}  // namespace mgtune
