// BuildCache: builds on disk by key, so that a second process does not compile again.
//
// There is one file per entry: a text header (format, key, kernels, SHA-256 of the payload) and the
// binary. It is published by rename and not synced; README.md specifies it. An entry that does not
// verify is removed and counts as a miss, so a damaged cache costs a compile, but never gives a
// wrong result. (A folder with content in the place of an entry is renamed.) The directory is
// created with mode 0700. It is refused if it belongs to another user, or if other users can write
// to it. If builds cannot be kept, a warning with the reason is written to stderr, once per process
// and directory. If the directory has more bytes than its limit, the oldest entries are removed.
// Even if many processes write, it is never more than a few percent above the limit. Any number of
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

  // Creates `directory` and checks that builds can be kept in it. If not, the failure has the
  // reason; for "" it is environment.
  static Status check(const std::string& directory);

  std::optional<Build> load(const std::string& key);

  // The SHA-256 of the binary with this key, read from the entry's header; nullopt if there is no
  // valid entry. It reads and verifies only the header. load() verifies the binary.
  std::optional<std::string> recorded_sha256(const std::string& key);

  // A failure leaves no part of an entry behind.
  Status store(const Build& build);
  const std::string& directory() const { return directory_; }
  std::int64_t max_bytes() const { return max_bytes_; }

  struct Usage {
    std::int64_t entries = 0;
    std::int64_t bytes = 0;
  };
  // Counts the entries; other files are not counted. 0 if there is no directory.
  Result<Usage> usage();
  // Removes all entries and returns how many there were. Other processes may store at the same
  // time.
  Result<Usage> clear();

 private:
  struct File;
  Status keep(const Build& build);
  void remove_entry(const std::string& key);
  bool looks_after(const std::string& key, std::size_t bytes);
  Result<std::vector<File>> list();
  void evict();
  std::string entry_path(const std::string& key) const;

  FileSystem& file_system_;
  std::string directory_;
  std::int64_t max_bytes_;
  bool looked_ = false;  // whether this object has looked for entries to evict
};

}  // namespace mgtune
