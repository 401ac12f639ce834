#include "family/source_tree.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/embedded.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxFileBytes = 4 << 20;
constexpr std::array<std::string_view, 8> kExtensions = {".json", ".cu", ".cuh", ".h",
                                                         ".hpp",  ".hh", ".inl", ".inc"};

bool belongs(std::string_view path) {
  return std::ranges::any_of(
      kExtensions, [path](std::string_view extension) { return path.ends_with(extension); });
}

}  // namespace

Result<SourceTree> read_source_tree(FileSystem& file_system, const std::string& folder) {
  SourceTree tree;
  tree.folder = folder;
  MGTUNE_ASSIGN(const std::vector<std::string> paths, file_system.list_files(folder));
  for (const std::string& path : paths) {
    if (!belongs(path)) continue;
    std::string full_path = folder;
    full_path.append("/").append(path);
    MGTUNE_ASSIGN(std::string content, file_system.read_file(full_path));
    if (content.size() > kMaxFileBytes) {
      return invalid_argument(full_path + ": " + std::to_string(content.size()) +
                              " bytes; a file of a family has at most 4 MiB");
    }
    tree.files.emplace(path, std::move(content));
  }
  return tree;
}

SourceTree embedded_source_tree(const std::string& folder) {
  SourceTree tree;
  tree.folder = folder;
  tree.is_embedded = true;
  const std::string prefix = folder + "/";
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(prefix) || !belongs(file.path)) continue;
    tree.files.emplace(file.path.substr(prefix.size()), file.content);
  }
  return tree;
}

}  // namespace mgtune
