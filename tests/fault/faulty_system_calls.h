// FaultySystemCalls: while one is alive, the n-th system call that this process makes on files
// fails. A loop over n makes every call of some work fail in turn.
//
// Including this header replaces the C library's functions for the whole program, shared libraries
// included: it is for one test file. One object at a time; counts the calls of the thread that made
// it.

#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string>

namespace mgtune {

class FaultySystemCalls {
 public:
  enum class Mode {
    once,          // that call alone
    from_then_on,  // and each later one that needs room: the disk is full and stays so
    half_a_write,  // that call writes half of what it was given, and the next one fails
  };

  FaultySystemCalls(int failing_call, int error, Mode mode)
      : failing_call_(failing_call), error_(error), mode_(mode) {
    active() = this;
  }
  FaultySystemCalls(const FaultySystemCalls&) = delete;
  FaultySystemCalls& operator=(const FaultySystemCalls&) = delete;
  ~FaultySystemCalls() { active() = nullptr; }

  bool struck() const { return !struck_.empty(); }
  const std::string& struck_call() const { return struck_; }  // the first: "fsync"

  enum class Answer { real, half, fail };

  // For the functions below. `needs_room`: a full disk refuses it.
  static Answer ask(const char* call, bool needs_room) {
    FaultySystemCalls* const faults = active();
    return faults == nullptr ? Answer::real : faults->answer(call, needs_room);
  }

 private:
  static FaultySystemCalls*& active() {
    static thread_local FaultySystemCalls* object = nullptr;
    return object;
  }

  Answer answer(const std::string& call, bool needs_room) {
    const int number = calls_++;
    if (number < failing_call_) return Answer::real;
    if (number == failing_call_) {
      struck_ = call;
      if (mode_ == Mode::half_a_write) return call == "write" ? Answer::half : Answer::real;
    } else if (mode_ == Mode::once || !needs_room ||
               (mode_ == Mode::half_a_write && struck_ != "write")) {
      return Answer::real;
    }
    errno = error_;
    return Answer::fail;
  }

  int failing_call_, error_;
  Mode mode_;
  int calls_ = 0;
  std::string struck_;
};

template <typename Function>
Function real_call(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace mgtune

// The result of `call` unless it is to fail.
#define MGTUNE_FAULTY(name, needs_room, ...)               \
  using Real = decltype(&::name);                          \
  static const Real real = mgtune::real_call<Real>(#name); \
  if (mgtune::FaultySystemCalls::ask(#name, needs_room) == \
      mgtune::FaultySystemCalls::Answer::fail) {           \
    return -1;                                             \
  }                                                        \
  return real(__VA_ARGS__)

extern "C" {
__attribute__((visibility("default"))) ssize_t write(int fd, const void* data, size_t bytes) {
  using Real = decltype(&::write);
  static const Real real = mgtune::real_call<Real>("write");
  switch (mgtune::FaultySystemCalls::ask("write", true)) {
    case mgtune::FaultySystemCalls::Answer::fail:
      return -1;
    case mgtune::FaultySystemCalls::Answer::half:
      return real(fd, data, bytes / 2);
    default:
      return real(fd, data, bytes);
  }
}

// A close that fails has closed all the same.
__attribute__((visibility("default"))) int close(int fd) {
  using Real = decltype(&::close);
  static const Real real = mgtune::real_call<Real>("close");
  const auto answer = mgtune::FaultySystemCalls::ask("close", false);
  const int error = errno;
  const int result = real(fd);
  if (answer != mgtune::FaultySystemCalls::Answer::fail) return result;
  errno = error;
  return -1;
}

__attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  MGTUNE_FAULTY(open, (flags & O_CREAT) != 0, path, flags, mode);
}

__attribute__((visibility("default"))) int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  MGTUNE_FAULTY(openat, (flags & O_CREAT) != 0, folder, path, flags, mode);
}

__attribute__((visibility("default"))) ssize_t read(int fd, void* data, size_t bytes) {
  MGTUNE_FAULTY(read, false, fd, data, bytes);
}
// One that succeeds does nothing: no power is lost here, and a disk takes tens of milliseconds.
__attribute__((visibility("default"))) int fsync(int) {
  const auto answer = mgtune::FaultySystemCalls::ask("fsync", true);
  return answer == mgtune::FaultySystemCalls::Answer::fail ? -1 : 0;
}
__attribute__((visibility("default"))) int mkdir(const char* path, mode_t mode) noexcept {
  MGTUNE_FAULTY(mkdir, true, path, mode);
}
__attribute__((visibility("default"))) int renameat(int from_folder, const char* from,
                                                    int to_folder, const char* to) noexcept {
  MGTUNE_FAULTY(renameat, true, from_folder, from, to_folder, to);
}
__attribute__((visibility("default"))) int unlink(const char* path) noexcept {
  MGTUNE_FAULTY(unlink, false, path);
}
__attribute__((visibility("default"))) int unlinkat(int folder, const char* path,
                                                    int flags) noexcept {
  MGTUNE_FAULTY(unlinkat, false, folder, path, flags);
}
__attribute__((visibility("default"))) int fstat(int fd, struct stat* info) noexcept {
  MGTUNE_FAULTY(fstat, false, fd, info);
}
}

#undef MGTUNE_FAULTY
