#include "core/embedded.h"

#include <algorithm>

namespace mgtune {

std::optional<std::string_view> embedded_file(std::string_view path) {
  const std::span<const EmbeddedFile> files = embedded_files();
  const auto found = std::ranges::lower_bound(files, path, {}, &EmbeddedFile::path);
  if (found == files.end() || found->path != path) return std::nullopt;
  return found->content;
}

}  // namespace mgtune
