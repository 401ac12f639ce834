#include "build/cache_entry.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "core/field_text.h"
#include "core/sha256.h"
#include "core/text.h"

namespace mgtune {
namespace {

constexpr std::size_t kHashDigits = 64;

std::string encode_header(const Build& build) {
  std::string header;
  append_field(header, "key", build.key);
  append_field(header, "arch", build.arch);
  append_field(header, "sha256", build.sha256);
  append_field(header, "kernels", std::to_string(build.kernels.size()));
  for (const BuildKernel& kernel : build.kernels) {
    append_field(header, "name", kernel.name);
    append_field(header, "symbol", kernel.symbol);
    append_field(header, "registers", std::to_string(kernel.registers));
    append_field(header, "spill_bytes", std::to_string(kernel.spill_bytes));
    append_field(header, "static_shared_bytes", std::to_string(kernel.static_shared_bytes));
  }
  if (!build.variables.empty()) {
    append_field(header, "variables", std::to_string(build.variables.size()));
    for (const BuildVariable& variable : build.variables) {
      append_field(header, "name", variable.name);
      append_field(header, "symbol", variable.symbol);
    }
  }
  if (build.ptx_bytes >= 0) append_field(header, "ptx_bytes", std::to_string(build.ptx_bytes));
  append_field(header, "log", build.log);
  return header;
}

int small_integer(FieldReader& fields, std::string_view name) {
  return static_cast<int>(std::clamp<std::int64_t>(fields.integer(name), -1, INT_MAX));
}

bool decode_header(std::string_view header, Build& build) {
  FieldReader fields(header);
  build.key = fields.text("key");
  build.arch = fields.text("arch");
  build.sha256 = fields.text("sha256");
  const std::int64_t kernels = fields.integer("kernels");
  for (std::int64_t i = 0; i < kernels && fields.ok(); ++i) {
    BuildKernel kernel;
    kernel.name = fields.text("name");
    kernel.symbol = fields.text("symbol");
    kernel.registers = small_integer(fields, "registers");
    kernel.spill_bytes = small_integer(fields, "spill_bytes");
    kernel.static_shared_bytes = small_integer(fields, "static_shared_bytes");
    build.kernels.push_back(std::move(kernel));
  }
  const bool has_variables = fields.next_is("variables");
  const std::int64_t variables = has_variables ? fields.integer("variables") : 0;
  if (has_variables && variables < 1) return false;  // no field would have been written
  for (std::int64_t i = 0; i < variables && fields.ok(); ++i) {
    BuildVariable variable;
    variable.name = fields.text("name");
    variable.symbol = fields.text("symbol");
    build.variables.push_back(std::move(variable));
  }
  if (fields.next_is("ptx_bytes")) {
    build.ptx_bytes = small_integer(fields, "ptx_bytes");
    if (build.ptx_bytes < 0) return false;  // no field would have been written
  }
  build.log = fields.text("log");
  return fields.ok() && fields.at_end();
}

}  // namespace

bool is_sha256_hex(std::string_view text) {
  return text.size() == kHashDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string encode_cache_entry(const Build& build) {
  const std::string header = encode_header(build);
  std::string entry(kCacheEntryFormat);
  entry += '\n' + sha256_hex(header) + ' ' + std::to_string(header.size()) + '\n';
  entry += header;
  entry += build.binary;
  return entry;
}

std::string cache_entry_key(std::string_view entry) {
  constexpr std::string_view kBefore = "\nkey 64\n";
  const std::size_t place = entry.find(kBefore);
  if (place == std::string_view::npos) return "";
  return std::string(entry.substr(place + kBefore.size(), kHashDigits));
}

Result<CacheHeader> decode_cache_header(const std::string& key, std::string_view entry) {
  const std::size_t whole = entry.size();
  const bool is_ours = entry.starts_with(kCacheEntryFormat) &&
                       entry.substr(kCacheEntryFormat.size()).starts_with('\n');
  if (!is_ours) return corrupt("it is no build of this format");
  entry.remove_prefix(kCacheEntryFormat.size() + 1);
  const std::size_t line_end = entry.find('\n');
  if (line_end == std::string_view::npos || line_end < kHashDigits + 2 ||
      entry[kHashDigits] != ' ') {
    return corrupt("its first lines are damaged");
  }
  const auto header_bytes =
      parse_number<std::size_t>(entry.substr(kHashDigits + 1, line_end - kHashDigits - 1));
  if (!header_bytes || *header_bytes > entry.size() - line_end - 1) {
    return corrupt("its first lines are damaged");
  }
  const std::string_view text = entry.substr(line_end + 1, *header_bytes);
  if (sha256_hex(text) != entry.substr(0, kHashDigits)) return corrupt("its header is damaged");
  CacheHeader header;
  if (!decode_header(text, header.build)) return corrupt("its header is malformed");
  if (header.build.key != key) return corrupt("it belongs to another key");
  header.bytes = whole - entry.size() + line_end + 1 + *header_bytes;
  return header;
}

Result<Build> decode_cache_entry(const std::string& key, std::string_view entry) {
  MGTUNE_ASSIGN(CacheHeader header, decode_cache_header(key, entry));
  Build build = std::move(header.build);
  build.binary = entry.substr(header.bytes);
  if (sha256_hex(build.binary) != build.sha256) return corrupt("its binary is damaged");
  return build;
}

}  // namespace mgtune
