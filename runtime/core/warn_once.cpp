#include "core/warn_once.h"

#include <cstdio>
#include <mutex>
#include <set>

#include "system/user_folders.h"

namespace mgtune {

void warn_once(const std::string& subject, std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  if (!environment_variable("MGTUNE_QUIET").empty()) return;
  const std::lock_guard lock(mutex);
  if (!warned.insert(subject).second) return;
  std::fprintf(stderr, "mgtune: warning: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace mgtune
