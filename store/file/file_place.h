// FilePlace: where an open database file was found. It tells whether the file's path still leads to
// the file. If somebody removes the file or puts another one in its place, SQLite goes on writing
// to the old one, and nobody finds those rows later. Private to store/. One thread at a time.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace mgtune {

class FilePlace {
 public:
  // `path` is as the user named it. `file` is the path that SQLite found behind its links, and that
  // the names of the write-ahead log begin with. To be called while the file is open.
  FilePlace(const std::string& path, const std::string& file);

  bool holds() const;  // the path leads to the file that it led to

  // Removes the write-ahead log that this file left behind. Whoever opens the file that is in the
  // place now would apply the log to it.
  void remove_log() const;

 private:
  struct Identity {
    dev_t device;
    ino_t inode;
    bool operator==(const Identity&) const = default;
  };
  struct Named {
    std::string path;
    std::optional<Identity> identity;  // nullopt: no such file
  };
  static std::optional<Identity> identity_of(const std::string& path);
  static Named find(const std::string& path) { return {path, identity_of(path)}; }
  static bool is_lost(const Named& file);
  static bool is_there(const Named& file) {
    return file.identity.has_value() && identity_of(file.path) == file.identity;
  }

  Named named_, file_, log_, index_of_log_;
};

}  // namespace mgtune
