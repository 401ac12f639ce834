// BuildCache: builds on disk by key, so that a second process does not compile again.
//
// There is one file per entry: a text header (format, key, kernels, SHA-256 of the payload) and the
// binary. It is published by rename and not synced; README.md specifies it. An entry that does not
// verify is removed and counts as a miss, so a damaged cache costs a compile, but never gives a
// wrong result. The directory is created with mode 0700. It is refused if others can write to it or
// it is not ours. If builds are not kept, for whatever reason, that is said once per process and
// directory on stderr. If the directory holds more than its limit, the oldest entries are removed.
// However many processes write, it exceeds the limit by a few hundredths at most. Any number of
// processes may use it at the same time; one object is for one thread.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "build/build.h"
#include "core/status.h"
#include "system/file_system.h"

namespace mgtune {

class BuildCache {
 public:
  static constexpr std::int64_t kDefaultMaxBytes = std::int64_t{2} << 30;

  // If `directory` is empty, there is no cache: loads miss, and stores succeed without effect.
  // `file_system` must outlive this object.
  BuildCache(FileSystem& file_system, std::string directory,
             std::int64_t max_bytes = kDefaultMaxBytes);

  // $MGTUNE_CACHE_DIR, otherwise $XDG_CACHE_HOME/mgtune, otherwise ~/.cache/mgtune. "" if none is
  // usable.
  static std::string default_directory();

  // The cache in the default directory. Warns if there is none.
  static BuildCache of_user();

  // Whether builds would be kept in `directory`, which is created. environment for "", otherwise
  // the reason why not.
  static Status check(const std::string& directory);

  std::optional<Build> load(const std::string& key);

  // The SHA-256 of the binary that the cache holds under the key, as its entry states it; nullopt
  // where load() would find no entry. Only the beginning of the entry is read and verified: the
  // binary is verified by load(), when somebody uses it.
  std::optional<std::string> recorded_sha256(const std::string& key);

  // A failure leaves no part of an entry behind.
  Status store(const Build& build);
  const std::string& directory() const { return directory_; }
  std::int64_t max_bytes() const { return max_bytes_; }

  struct Usage {
    std::int64_t entries = 0;
    std::int64_t bytes = 0;
  };
  Result<Usage> usage();  // of entries alone; nothing where there is no directory
  Result<Usage>
  clear();  // removes them and says how much that was; others may be storing meanwhile

 private:
  struct File;
  Status keep(const Build& build);
  bool looks_after(const std::string& key, std::size_t bytes);
  Result<std::vector<File>> list();
  void evict();
  std::string entry_path(const std::string& key) const;

  FileSystem& file_system_;
  std::string directory_;
  std::int64_t max_bytes_;
  bool looked_ = false;  // for what to evict
};

}  // namespace mgtune
