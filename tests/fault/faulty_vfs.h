// FaultyVfs: the layer below SQLite, replaced for this process while the object lives: the real
// one, except that its n-th call goes wrong. A loop over n makes every call of some work go wrong
// in turn. Databases opened meanwhile close before the object goes. One object and one thread at a
// time.

#pragma once

#include <sqlite3.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <string>

namespace mgtune {

class FaultyVfs {
 public:
  enum class Mode {
    full,         // that call and each later one that needs room: SQLITE_FULL
    short_write,  // a write puts down its first half, then as above
    io_error,     // that call alone: SQLITE_IOERR_*, SQLITE_CANTOPEN
    broken,       // that call and each later one
    killed,       // the process ends in place of that call, with exit code 0
  };

  FaultyVfs() : real_(sqlite3_vfs_find(nullptr)) {
    vfs_ = *real_;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.zName = "mgtune-faulty";
    vfs_.pNext = nullptr;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    active() = this;
    sqlite3_vfs_register(&vfs_, 1);
  }
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;
  ~FaultyVfs() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_, 1);
    active() = nullptr;
  }

  // Counts from 0 again.
  void fail(int call, Mode mode) {
    calls_ = 0;
    failing_call_ = call;
    mode_ = mode;
    struck_.clear();
  }
  void heal() { failing_call_ = -1; }

  bool has_struck() const { return !struck_.empty(); }
  const std::string& struck_call() const { return struck_; }  // "xSync", since fail()

 private:
  struct File {
    sqlite3_file base;
    sqlite3_file* real;  // behind this one in SQLite's memory
  };
  enum class Answer { real, half, fail };

  static FaultyVfs*& active() {
    static FaultyVfs* object = nullptr;
    return object;
  }

  Answer ask(const char* call, bool needs_room) {
    if (failing_call_ < 0) return Answer::real;
    const int number = calls_++;
    if (number < failing_call_) return Answer::real;
    if (number == failing_call_) {
      struck_ = call;
      if (mode_ == Mode::killed) ::_exit(0);
      return mode_ == Mode::short_write && struck_ == "xWrite" ? Answer::half : Answer::fail;
    }
    if (mode_ == Mode::io_error) return Answer::real;
    return mode_ == Mode::broken || needs_room ? Answer::fail : Answer::real;
  }
  // A disk that is full says so of what needs room, and reads as ever.
  int code(bool needs_room, int io_code) const {
    const bool disk_is_full = mode_ == Mode::full || mode_ == Mode::short_write;
    return disk_is_full && needs_room ? SQLITE_FULL : io_code;
  }

  static sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
    FaultyVfs& self = *active();
    file->pMethods = nullptr;
    if (self.ask("xOpen", (flags & SQLITE_OPEN_CREATE) != 0) != Answer::real) {
      return SQLITE_CANTOPEN;
    }
    auto* const mine = reinterpret_cast<File*>(file);
    mine->real = reinterpret_cast<sqlite3_file*>(mine + 1);
    const int result = self.real_->xOpen(self.real_, name, mine->real, flags, out);
    if (mine->real->pMethods != nullptr) mine->base.pMethods = &methods();
    return result;
  }

  static int remove(sqlite3_vfs*, const char* name, int) {
    FaultyVfs& self = *active();
    if (self.ask("xDelete", false) != Answer::real) return SQLITE_IOERR_DELETE;
    return self.real_->xDelete(self.real_, name, 0);
  }

  static int write(sqlite3_file* file, const void* data, int bytes, sqlite3_int64 offset) {
    FaultyVfs& self = *active();
    const Answer answer = self.ask("xWrite", true);
    if (answer == Answer::real)
      return real(file)->pMethods->xWrite(real(file), data, bytes, offset);
    if (answer == Answer::half) real(file)->pMethods->xWrite(real(file), data, bytes / 2, offset);
    return self.code(true, SQLITE_IOERR_WRITE);
  }

  static int read(sqlite3_file* file, void* data, int bytes, sqlite3_int64 offset) {
    if (active()->ask("xRead", false) != Answer::real) return SQLITE_IOERR_READ;
    return real(file)->pMethods->xRead(real(file), data, bytes, offset);
  }

  static int truncate(sqlite3_file* file, sqlite3_int64 bytes) {
    if (active()->ask("xTruncate", false) != Answer::real) return SQLITE_IOERR_TRUNCATE;
    return real(file)->pMethods->xTruncate(real(file), bytes);
  }

  static int sync(sqlite3_file*, int) {
    if (active()->ask("xSync", true) != Answer::real) {
      return active()->code(true, SQLITE_IOERR_FSYNC);
    }
    return SQLITE_OK;  // no power is lost here, and a disk takes tens of milliseconds
  }

  static int shared_map(sqlite3_file* file, int page, int bytes, int extend, void volatile** map) {
    if (active()->ask("xShmMap", extend != 0) != Answer::real) return SQLITE_IOERR_SHMMAP;
    return real(file)->pMethods->xShmMap(real(file), page, bytes, extend, map);
  }

  // What goes through as it is. Version 2: no memory maps of the file, so that reads come here.
  static const sqlite3_io_methods& methods() {
    static const sqlite3_io_methods table = {
        2,
        [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); },
        read,
        write,
        truncate,
        sync,
        [](sqlite3_file* f, sqlite3_int64* size) {
          return real(f)->pMethods->xFileSize(real(f), size);
        },
        [](sqlite3_file* f, int level) { return real(f)->pMethods->xLock(real(f), level); },
        [](sqlite3_file* f, int level) { return real(f)->pMethods->xUnlock(real(f), level); },
        [](sqlite3_file* f, int* held) {
          return real(f)->pMethods->xCheckReservedLock(real(f), held);
        },
        [](sqlite3_file* f, int what, void* argument) {
          return real(f)->pMethods->xFileControl(real(f), what, argument);
        },
        [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); },
        [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); },
        shared_map,
        [](sqlite3_file* f, int offset, int count, int flags) {
          return real(f)->pMethods->xShmLock(real(f), offset, count, flags);
        },
        [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); },
        [](sqlite3_file* f, int remove_it) {
          return real(f)->pMethods->xShmUnmap(real(f), remove_it);
        },
        nullptr,
        nullptr};
    return table;
  }

  sqlite3_vfs* real_;
  sqlite3_vfs vfs_{};
  int failing_call_ = -1, calls_ = 0;
  Mode mode_ = Mode::io_error;
  std::string struck_;
};

}  // namespace mgtune
