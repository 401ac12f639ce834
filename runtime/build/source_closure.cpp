#include "build/source_closure.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "compiler/include_scan.h"
#include "core/embedded.h"
#include "core/sha256.h"

namespace mgtune {
namespace {

// The folder of <mg/...> among the embedded files.
constexpr std::string_view kCommonFolder = "kernels/common/";

std::string normal(const std::filesystem::path& path) { return path.lexically_normal().string(); }

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

  SourceClosure take() && {
    SourceClosure closure;
    for (const auto& [name, content] : files_) {
      append_hash_field(closure.fields, name);
      append_hash_field(closure.fields, content);
    }
    closure.files = std::move(files_);
    return closure;
  }

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

bool continues_identifier(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Whether the text without its comments has this identifier.
bool has_identifier(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find("//"));
    for (std::size_t at = 0; (at = line.find(name, at)) != line.npos; at += name.size()) {
      const std::size_t end = at + name.size();
      const bool begins = at == 0 || !continues_identifier(line[at - 1]);
      if (begins && (end == line.size() || !continues_identifier(line[end]))) return true;
    }
  }
  return false;
}

}  // namespace

const SourceClosure& source_closure(const SourceTree& tree, const std::string& source) {
  return tree.closures.find(source, [&] {
    Closure closure(tree);
    closure.follow(source);
    return std::move(closure).take();
  });
}

std::string header_with_name(const SourceTree& tree, const std::string& source,
                             std::string_view name) {
  constexpr std::string_view kCommon = "common ";
  for (const auto& [path, content] : source_closure(tree, source).files) {
    if (!path.starts_with(kCommon) || !has_identifier(content, name)) continue;
    return "<" + path.substr(kCommon.size()) + ">";
  }
  return "";
}

}  // namespace mgtune
