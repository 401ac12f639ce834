#include <iostream>

#include "build/build_cache.h"
#include "cli/command.h"
#include "core/text.h"
#include "json/json.h"
#include "system/file_system.h"
#include "text/units.h"

namespace mgtune {
namespace {

class CacheCommand final : public Command {
 public:
  std::string_view details() const override {
    return "MGTUNE_CACHE_DIR names another folder. If the cache exceeds its limit, mgtune\n"
           "removes the oldest builds. The next sweep compiles again what 'mgtune cache clear'\n"
           "removed; results are kept.\n"
           "Example: mgtune cache clear";
  }
  void declare(ArgumentList& arguments) override {
    arguments.words("ACTION", words_, "clear: remove all builds; this is safe while sweeps run");
    arguments.json(json_);
  }

  Result<ExitCode> run(const Invocation&) override {
    const std::vector<std::string> actions = {"clear"};
    if (!words_.empty() && words_ != actions) {
      const std::string& word = words_[words_[0] == "clear" ? 1 : 0];
      return invalid_argument("unknown word '" + word + "' of mgtune cache" +
                              did_you_mean(word, actions));
    }
    const std::string folder = BuildCache::default_directory();
    if (folder.empty()) return BuildCache::check(folder);
    BuildCache cache(FileSystem::real(), folder);
    return words_.empty() ? show(cache) : clear(cache);
  }

 private:
  Result<ExitCode> show(BuildCache& cache) const {
    MGTUNE_ASSIGN(const BuildCache::Usage usage, cache.usage());
    if (json_) {
      std::cout << Json({{"format", 1},
                         {"folder", cache.directory()},
                         {"entries", usage.entries},
                         {"bytes", usage.bytes},
                         {"limit_bytes", cache.max_bytes()}})
                       .document_text();
    } else {
      std::cout << cache.directory() << ": " << counted(usage.entries, "build") << ", "
                << bytes_text(usage.bytes) << " of at most " << bytes_text(cache.max_bytes())
                << "\n";
    }
    return ExitCode::ok;
  }

  Result<ExitCode> clear(BuildCache& cache) const {
    MGTUNE_ASSIGN(const BuildCache::Usage removed, cache.clear());
    if (json_) {
      std::cout << Json({{"format", 1},
                         {"folder", cache.directory()},
                         {"removed_entries", removed.entries},
                         {"removed_bytes", removed.bytes}})
                       .document_text();
    } else {
      std::cout << cache.directory() << ": removed " << counted(removed.entries, "build") << ", "
                << bytes_text(removed.bytes) << "\n";
    }
    return ExitCode::ok;
  }

  std::vector<std::string> words_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_cache_command() { return std::make_unique<CacheCommand>(); }

}  // namespace mgtune
