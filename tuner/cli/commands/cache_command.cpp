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
  std::string details() const override {
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
                              must_be_one_of(word, actions));
    }
    const std::string folder = BuildCache::default_directory();
    if (folder.empty()) return BuildCache::check(folder);
    BuildCache cache(FileSystem::real(), folder);
    const bool clears = !words_.empty();
    MGTUNE_ASSIGN(const BuildCache::Usage usage, clears ? cache.clear() : cache.usage());
    if (json_) {
      Json json = {{"format", 1},
                   {"folder", folder},
                   {clears ? "removed_entries" : "entries", usage.entries},
                   {clears ? "removed_bytes" : "bytes", usage.bytes}};
      if (!clears) json["limit_bytes"] = cache.max_bytes();
      std::cout << json.document_text();
    } else {
      std::cout << folder << (clears ? ": removed " : ": ") << counted(usage.entries, "build")
                << ", " << bytes_text(usage.bytes)
                << (clears ? "" : " of at most " + bytes_text(cache.max_bytes())) << "\n";
    }
    return ExitCode::ok;
  }

 private:
  std::vector<std::string> words_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_cache_command() { return std::make_unique<CacheCommand>(); }

}  // namespace mgtune
