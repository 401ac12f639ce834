#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "build/cache_entry.h"
#include "compiler/compiler.h"
#include "compiler/include_scan.h"
#include "core/embedded.h"
#include "core/sha256.h"

namespace mgtune {
namespace {

// Increase this when the content of a key changes, and when the format of the cache's entries
// changes. Entries of another format then have other names, and no version reads what another one
// wrote.
constexpr std::string_view kKeyFormat = "mgtune build key 1";

constexpr std::string_view number_of(std::string_view format) {
  return format.substr(format.rfind(' '));
}
static_assert(number_of(kKeyFormat) == number_of(kCacheEntryFormat));

// The folder of <mg/...> among the embedded files.
constexpr std::string_view kCommonFolder = "kernels/common/";

std::string normal(const std::filesystem::path& path) { return path.lexically_normal().string(); }

// The files that a compile may read, by a name that says where they come from: "family forward.cu",
// "common mg/vec.cuh".
class Closure {
 public:
  explicit Closure(const SourceTree& tree) : tree_(tree) {}

  void follow(const std::string& source) {
    add_family(source);
    while (!pending_.empty()) {
      const Pending next = pending_.back();
      pending_.pop_back();
      const IncludeScan scan = scan_includes(next.content);
      for (const std::string& file : scan.files) resolve(next, file);
      if (scan.computed) add_everything();
    }
  }

  const std::map<std::string, std::string_view>& files() const { return files_; }

 private:
  struct Pending {
    bool common = false;
    std::string folder;
    std::string_view content;
  };

  // Every file that the include could mean: the compiler's include paths decide which one it takes.
  void resolve(const Pending& from, const std::string& file) {
    const std::string beside = normal(std::filesystem::path(from.folder) / file);
    if (from.common) {
      add_common(beside);
    } else {
      add_family(beside);
    }
    add_family(normal(file));
    add_common(normal(file));
  }

  void add_everything() {
    for (const auto& [path, content] : tree_.files) add_family(path);
    for (const EmbeddedFile& file : embedded_files()) {
      if (file.path.starts_with(kCommonFolder)) {
        add_common(std::string(file.path.substr(kCommonFolder.size())));
      }
    }
  }

  void add_family(const std::string& path) {
    const auto found = tree_.files.find(path);
    if (found != tree_.files.end()) add(false, path, found->second);
  }

  void add_common(const std::string& path) {
    const auto content = embedded_file(std::string(kCommonFolder) + path);
    if (content) add(true, path, *content);
  }

  void add(bool common, const std::string& path, std::string_view content) {
    const std::string name = (common ? "common " : "family ") + path;
    if (!files_.emplace(name, content).second) return;
    pending_.push_back({common, std::filesystem::path(path).parent_path().string(), content});
  }

  const SourceTree& tree_;
  std::map<std::string, std::string_view> files_;
  std::vector<Pending> pending_;
};

}  // namespace

std::string build_key(const BuildRequest& request, const std::string& compiler_identity) {
  Sha256 hash;
  hash.update_field(kKeyFormat);
  hash.update_field(compiler_identity);
  hash.update_field(request.arch);
  hash.update_field(request.source);
  std::set<std::string_view> kernels;
  for (const std::string& kernel : request.kernels) {
    if (kernels.insert(kernel).second) hash.update_field(kernel);
  }
  hash.update_field("files");
  Closure closure(*request.sources);
  closure.follow(request.source);
  for (const auto& [name, content] : closure.files()) {
    hash.update_field(name);
    hash.update_field(content);
  }
  return hash.hex();
}

}  // namespace mgtune
