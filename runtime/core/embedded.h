// Files of this repository that are embedded in the binary: kernels/, configs/ and the headers of
// the cpu device, under their paths in the repository ("kernels/rmsnorm/forward.json"). Immutable.

#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

namespace mgtune {

struct EmbeddedFile {
  std::string_view path;
  std::string_view content;
};

std::span<const EmbeddedFile> embedded_files();  // sorted by path
inline std::optional<std::string_view> embedded_file(std::string_view path) {
  const std::span<const EmbeddedFile> files = embedded_files();
  const auto found = std::ranges::lower_bound(files, path, {}, &EmbeddedFile::path);
  if (found == files.end() || found->path != path) return std::nullopt;
  return found->content;
}

}  // namespace mgtune
