// SwappingFileSystem: the real file system, with one change just before a file is written, for
// example another directory in the place of the cache's, as whoever may write to the folder above
// can make it. Header-only.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "system/file_system.h"

namespace mgtune {

class SwappingFileSystem final : public FileSystem {
 public:
  explicit SwappingFileSystem(std::function<void()> swap) : swap_(std::move(swap)) {}
  Result<std::string> read_file(const std::string& path) override { return real().read_file(path); }
  Status write_file(const std::string& path, std::string_view content) override {
    return real().write_file(path, content);
  }
  Status write_file_unsynced(int folder, const std::string& path,
                             std::string_view content) override {
    swap_();
    return real().write_file_unsynced(folder, path, content);
  }
  Status create_directories(const std::string& path, unsigned mode) override {
    return real().create_directories(path, mode);
  }
  Status remove(const std::string& path) override { return real().remove(path); }
  bool is_directory(const std::string& path) override { return real().is_directory(path); }
  bool exists(const std::string& path) override { return real().exists(path); }
  Result<std::vector<std::string>> list_files(const std::string& directory) override {
    return real().list_files(directory);
  }

 private:
  std::function<void()> swap_;
};

}  // namespace mgtune
