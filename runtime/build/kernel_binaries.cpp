#include "build/kernel_binaries.h"

#include <cstddef>
#include <optional>

#include "core/text.h"

namespace mgtune {
namespace {

constexpr std::string_view kFirstWords = "mgtune kernels ";

// The number on the first line, which is removed; nullopt if it is not one.
std::optional<std::size_t> take_number(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const auto number = parse_number<std::size_t>(text.substr(0, end));
  text.remove_prefix(end + 1);
  return number ? std::optional(*number) : std::nullopt;
}

}  // namespace

std::string join_binaries(const std::vector<std::string>& binaries) {
  std::string joined(kFirstWords);
  joined += std::to_string(binaries.size()) + '\n';
  for (const std::string& binary : binaries) joined += std::to_string(binary.size()) + '\n';
  for (const std::string& binary : binaries) joined += binary;
  return joined;
}

Result<std::vector<std::string>> split_binaries(std::string_view binary) {
  if (!binary.starts_with(kFirstWords)) return std::vector<std::string>{std::string(binary)};
  const Status damaged = corrupt("the list of a build's binaries is damaged");
  binary.remove_prefix(kFirstWords.size());
  const std::optional<std::size_t> count = take_number(binary);
  if (!count || *count > binary.size()) return damaged;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < *count; ++i) {
    const std::optional<std::size_t> size = take_number(binary);
    if (!size) return damaged;
    sizes.push_back(*size);
  }
  std::vector<std::string> binaries;
  for (const std::size_t size : sizes) {
    if (size > binary.size()) return damaged;
    binaries.emplace_back(binary.substr(0, size));
    binary.remove_prefix(size);
  }
  if (!binary.empty()) return damaged;
  return binaries;
}

}  // namespace mgtune
