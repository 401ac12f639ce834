// BuildCache: artifacts on disk by key, so that a second process does not compile again.
//
// One file an entry: a text header (format, key, kernels, SHA-256 of the payload) and the binary,
// published by rename. An entry that does not verify is removed and counts as a miss: a damaged
// cache costs a compile, never a wrong result. The directory is created 0700 and refused (the
// cache is then off, with one warning) when others can write to it or it is not ours.
// Safe for any number of processes at once; one object is for one thread.

#pragma once

#include <optional>
#include <string>

#include "build/artifact.h"
#include "core/file_system.h"
#include "core/status.h"

namespace mgtune {

class BuildCache {
 public:
  // `directory` empty: no cache; every load misses and every store succeeds without effect.
  BuildCache(FileSystem& file_system, std::string directory);

  // $MGTUNE_CACHE_DIR, else $XDG_CACHE_HOME/mgtune, else ~/.cache/mgtune; "" when none is usable.
  static std::string default_directory();

  std::optional<Artifact> load(const std::string& key);
  Status store(const Artifact& artifact);
  const std::string& directory() const { return directory_; }

 private:
  FileSystem& file_system_;
  std::string directory_;
};

}  // namespace mgtune
