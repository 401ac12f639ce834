// FaultyFileSystem: the real one, except that its n-th call goes wrong. A loop over n makes every
// call of some work go wrong in turn.

#pragma once

#include <string>
#include <vector>

#include "system/file_system.h"

namespace mgtune {

enum class Fault : std::uint8_t {
  refused,       // nothing happens and the call fails
  torn,          // a write leaves half of its content in place, and fails
  silently_torn  // a write leaves half of its content in place, and claims success: lost power
};

class FaultyFileSystem final : public FileSystem {
 public:
  FaultyFileSystem(Fault fault, int failing_call) : fault_(fault), failing_call_(failing_call) {}

  int calls() const { return calls_; }
  bool struck() const { return calls_ > failing_call_; }

  Result<std::string> read_file(const std::string& path) override {
    if (is_failing()) return failure("read", path);
    return real().read_file(path);
  }

  Status write_file(const std::string& path, std::string_view content) override {
    return write(path, content,
                 [&](std::string_view some) { return real().write_file(path, some); });
  }
  Status write_file_unsynced(int folder, const std::string& path,
                             std::string_view content) override {
    return write(path, content, [&](std::string_view some) {
      return real().write_file_unsynced(folder, path, some);
    });
  }

  Status create_directories(const std::string& path, unsigned mode) override {
    if (is_failing()) return failure("create folder", path);
    return real().create_directories(path, mode);
  }

  Status remove(const std::string& path) override {
    if (is_failing()) return failure("remove", path);
    return real().remove(path);
  }

  bool is_directory(const std::string& path) override {
    return !is_failing() && real().is_directory(path);
  }

  bool exists(const std::string& path) override { return !is_failing() && real().exists(path); }

  Result<std::vector<std::string>> list_files(const std::string& directory) override {
    if (is_failing()) return failure("list", directory);
    return real().list_files(directory);
  }

 private:
  bool is_failing() { return calls_++ == failing_call_; }

  template <typename Write>
  Status write(const std::string& path, std::string_view content, const Write& really) {
    if (!is_failing()) return really(content);
    if (fault_ != Fault::refused) MGTUNE_TRY(really(content.substr(0, content.size() / 2)));
    return fault_ == Fault::silently_torn ? Status() : failure("write", path);
  }

  static Status failure(const std::string& action, const std::string& path) {
    return io_error("cannot " + action + " " + path + ": No space left on device");
  }

  Fault fault_;
  int failing_call_;
  int calls_ = 0;
};

}  // namespace mgtune
