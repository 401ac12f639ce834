#include "tensors/array_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "core/safetensors_types.h"
#include "core/text.h"
#include "json/json_cursor.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::size_t kMaxRank = 32;
constexpr std::size_t kMaxNamesInMessage = 8;

// If a dtype has several names, files that we write have the first one.
constexpr std::array<NamedDType, 13> kNpyTypes = {{{"<f8", DType::f64},
                                                   {"<f4", DType::f32},
                                                   {"<f2", DType::f16},
                                                   {"<V2", DType::bf16},
                                                   {"|V2", DType::bf16},
                                                   {"<i8", DType::i64},
                                                   {"<u8", DType::u64},
                                                   {"<i4", DType::i32},
                                                   {"<u4", DType::u32},
                                                   {"|i1", DType::i8},
                                                   {"|u1", DType::u8},
                                                   {"<i1", DType::i8},
                                                   {"|b1", DType::u8}}};

template <std::size_t kSize>
Result<DType> dtype_of(const std::array<NamedDType, kSize>& types, std::string_view name) {
  for (const NamedDType& type : types) {
    if (type.name == name) return type.dtype;
  }
  std::vector<std::string_view> known;
  known.reserve(types.size());
  for (const NamedDType& type : types) known.push_back(type.name);
  return invalid_argument(fmt::format("its elements have the type '{}', and mgtune reads {}", name,
                                      fmt::join(known, " ")));
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// The bytes of an array; -1 if they do not fit into 62 bits.
std::int64_t bytes_of(DType dtype, const std::vector<std::int64_t>& shape) {
  std::int64_t bytes = size_in_bytes(dtype);
  bool is_empty = false;
  for (const std::int64_t extent : shape) {
    is_empty = is_empty || extent == 0;
    if (extent < 0) return -1;
    if (extent > 0 && __builtin_mul_overflow(bytes, extent, &bytes)) return -1;
  }
  if (bytes > std::numeric_limits<std::int64_t>::max() / 2) return -1;
  return is_empty ? 0 : bytes;
}

Status check_size(const ArrayFile& array, std::size_t available) {
  const std::int64_t bytes = bytes_of(array.dtype, array.shape);
  if (bytes >= 0 && static_cast<std::uint64_t>(bytes) == available) return {};
  return invalid_argument(
      fmt::format("it has {} bytes of elements, which is not what {} of {} needs", available,
                  shape_text(array.shape), to_string(array.dtype)));
}

// Reads the header of a .npy file, the text of a Python dictionary.
class NpyHeader {
 public:
  explicit NpyHeader(std::string_view text) : rest_(text) {}

  Status read(ArrayFile& array) {
    Status malformed = invalid_argument("its header is malformed");
    if (!skip('{')) return malformed;
    while (!skip('}')) {
      std::string_view key;
      if (!read_text(key) || !skip(':')) return malformed;
      if (key == "descr") {
        std::string_view type;
        if (!read_text(type)) return invalid_argument("its elements are structures");
        MGTUNE_ASSIGN(array.dtype, dtype_of(kNpyTypes, type));
        has_type_ = true;
      } else if (key == "fortran_order") {
        if (skip_word("True")) {
          return invalid_argument(
              "its array is in Fortran's order; save numpy.ascontiguousarray(array)");
        }
        if (!skip_word("False")) return malformed;
        has_order_ = true;
      } else if (key != "shape" || !read_shape(array.shape)) {
        return malformed;
      }
      if (!skip(',') && !at('}')) return malformed;
    }
    return has_type_ && has_order_ && has_shape_ ? Status() : malformed;
  }

 private:
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size()));
  }
  bool at(char c) {
    skip_blanks();
    return rest_.starts_with(c);
  }
  bool skip(char c) {
    if (!at(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool skip_word(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool read_text(std::string_view& text) {
    if (!at('\'') && !at('"')) return false;
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == rest_.npos) return false;
    text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool read_shape(std::vector<std::int64_t>& shape) {
    if (has_shape_ || !skip('(')) return false;
    has_shape_ = true;
    while (!skip(')')) {
      skip_blanks();
      const std::size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      const auto extent = parse_number<std::int64_t>(rest_.substr(0, end));
      if (!extent || shape.size() == kMaxRank) return false;
      shape.push_back(*extent);
      rest_.remove_prefix(end);
      if (!skip(',') && !at(')')) return false;
    }
    return true;
  }

  std::string_view rest_;
  bool has_type_ = false, has_order_ = false, has_shape_ = false;
};

// A number with its lowest byte first.
std::uint64_t number_at(std::string_view content, std::size_t place, std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes; i-- > 0;) {
    number = number << 8U | static_cast<unsigned char>(content[place + i]);
  }
  return number;
}

Status check_shape(const ArrayFile& array, const TensorLayout& layout) {
  if (array.shape == layout.shape) return {};
  return invalid_argument(fmt::format("its shape is {}, and {} has the shape {}",
                                      shape_text(array.shape), layout.name,
                                      shape_text(layout.shape)));
}

Result<ArrayFile> parse_tensor(const JsonCursor& entry, std::string_view data) {
  ArrayFile array;
  MGTUNE_ASSIGN(const std::string type, entry.at("dtype").string());
  MGTUNE_ASSIGN(array.dtype, dtype_of(kSafetensorsTypes, type));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> extents, entry.at("shape").elements());
  for (const JsonCursor& extent : extents) {
    MGTUNE_ASSIGN(array.shape.emplace_back(), extent.integer());
  }
  MGTUNE_ASSIGN(const std::vector<JsonCursor> offsets, entry.at("data_offsets").elements());
  if (offsets.size() != 2) return invalid_argument("its data_offsets are not two numbers");
  MGTUNE_ASSIGN(const std::int64_t begin, offsets[0].integer());
  MGTUNE_ASSIGN(const std::int64_t end, offsets[1].integer());
  if (begin < 0 || end < begin || std::cmp_greater(end, data.size())) {
    return invalid_argument(
        fmt::format("its elements are at bytes {} to {} of {}", begin, end, data.size()));
  }
  const std::string_view elements =
      data.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  MGTUNE_TRY(check_size(array, elements.size()));
  array.elements = elements;
  return array;
}

}  // namespace

std::int64_t ArrayFile::count() const {
  return static_cast<std::int64_t>(elements.size()) / size_in_bytes(dtype);
}

Result<ArrayFile> parse_npy(std::string_view content) {
  constexpr std::size_t kVersionAt = 6, kLengthAt = 8;
  if (!content.starts_with(kNpyMagic) || content.size() < kLengthAt + 4) {
    return invalid_argument("it is no .npy file");
  }
  const auto version = static_cast<unsigned char>(content[kVersionAt]);
  if (version < 1 || version > 3) {
    return invalid_argument(fmt::format("it has version {} of the .npy format", version));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::uint64_t length = number_at(content, kLengthAt, length_bytes);
  const std::size_t header_at = kLengthAt + length_bytes;
  if (length > content.size() - header_at) {
    return invalid_argument(
        fmt::format("its header claims {} bytes, and the file has {}", length, content.size()));
  }
  ArrayFile array;
  MGTUNE_TRY(NpyHeader(content.substr(header_at, length)).read(array));
  const std::string_view elements = content.substr(header_at + length);
  MGTUNE_TRY(check_size(array, elements.size()));
  array.elements = elements;
  return array;
}

std::string npy_text(const ArrayFile& array) {
  constexpr std::size_t kAlignment = 64, kBeforeHeader = 10;
  const auto* const type = std::ranges::find(kNpyTypes, array.dtype, &NamedDType::dtype);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type->name,
                  fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  header.append((kAlignment - (kBeforeHeader + header.size() + 1) % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string text(kNpyMagic);
  text += {1, 0, static_cast<char>(header.size() & 0xffU), static_cast<char>(header.size() >> 8U)};
  return text + header + array.elements;
}

Result<ArrayFile> parse_safetensors(std::string_view content, const std::string& name) {
  constexpr std::size_t kLengthBytes = 8;
  constexpr std::string_view kMetadata = "__metadata__";
  if (content.size() < kLengthBytes) return invalid_argument("it is no .safetensors file");
  const std::uint64_t length = number_at(content, 0, kLengthBytes);
  if (length > content.size() - kLengthBytes) {
    return invalid_argument(
        fmt::format("its header claims {} bytes, and the file has {}", length, content.size()));
  }
  MGTUNE_ASSIGN(const JsonValue header, parse_json(content.substr(kLengthBytes, length)));
  if (header.kind != JsonValue::Kind::object) return invalid_argument("its header is malformed");
  const JsonValue* const found = name == kMetadata ? nullptr : header.find(name);
  if (found == nullptr) {
    std::vector<std::string> names = header.keys;
    std::erase(names, kMetadata);
    const std::string suggestion = did_you_mean(name, names);
    const std::size_t more = names.size() - std::min(names.size(), kMaxNamesInMessage);
    names.resize(names.size() - more);
    return invalid_argument(
        fmt::format("it has no tensor '{}'; it has {}{}{}", name, fmt::join(names, ", "),
                    more > 0 ? fmt::format(" and {} more", more) : "", suggestion));
  }
  const JsonCursor entry(name, *found);
  MGTUNE_TRY(entry.expect_keys({"dtype", "shape", "data_offsets"}, {}));
  return parse_tensor(entry, content.substr(kLengthBytes + length));
}

Result<ArrayFile> read_array_file(const std::string& folder, const ArraySource& source) {
  std::string path = folder;
  path.append("/").append(source.path);
  MGTUNE_ASSIGN(const std::string content, FileSystem::real().read_file(path));
  Result<ArrayFile> array =
      source.array.empty() ? parse_npy(content) : parse_safetensors(content, source.array);
  if (array.ok()) return array;
  return std::move(array).take_status().with_context(path);
}

Result<Bytes> elements_for(const ArrayFile& array, const TensorLayout& layout) {
  MGTUNE_TRY(check_shape(array, layout));
  if (array.dtype == layout.dtype) return Bytes(array.elements.begin(), array.elements.end());
  if (!is_floating(array.dtype) || !is_floating(layout.dtype)) {
    return invalid_argument(fmt::format("its elements are {}, and {} is {}", to_string(array.dtype),
                                        layout.name, to_string(layout.dtype)));
  }
  Bytes bytes(static_cast<std::size_t>(layout.count * size_in_bytes(layout.dtype)));
  for (std::int64_t i = 0; i < layout.count; ++i) {
    put_element(bytes.data(), i, layout.dtype,
                element_as_double(array.elements.data(), i, array.dtype));
  }
  return bytes;
}

Result<std::vector<double>> doubles_for(const ArrayFile& array, const TensorLayout& layout) {
  MGTUNE_TRY(check_shape(array, layout));
  std::vector<double> values(static_cast<std::size_t>(layout.count));
  for (std::int64_t i = 0; i < layout.count; ++i) {
    values[static_cast<std::size_t>(i)] = element_as_double(array.elements.data(), i, array.dtype);
  }
  return values;
}

}  // namespace mgtune
