#include "api/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "core/warn_once.h"
#include "system/file_descriptor.h"
#include "system/user_folders.h"

namespace mgtune {
namespace {

// Appends the line with one write, so that the lines of several processes stay whole.
bool append_line(const std::string& path, const std::string& line) {
  const FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666));
  if (file.get() < 0) return false;
  return ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace

ShapeFile* ShapeFile::of_environment() {
  const std::string path = environment_variable("MGTUNE_RECORD");
  if (path.empty()) return nullptr;
  static std::mutex mutex;
  static std::map<std::string, ShapeFile> files;
  const std::lock_guard lock(mutex);
  return &files.try_emplace(path, path).first->second;
}

// Names of operators and the texts of problems are identifiers, numbers, '.', '=' and blanks:
// JSON has to escape none of them.
void ShapeFile::append(const Problem& problem) {
  const std::string line = fmt::format("{{\"operator\": \"{}\", \"problem\": \"{}\"}}\n",
                                       problem.op->full_name(), problem.text());
  const std::lock_guard lock(mutex_);
  if (failed_ || !written_.insert(line).second || append_line(path_, line)) return;
  failed_ = true;
  warn_once(path_,
            "problems are not recorded: cannot write " + path_ + ": " + std::strerror(errno));
}

bool SeenDims::insert(std::span<const std::int64_t> dims) {
  const std::uint64_t hash = hash_of(dims) | 1U;  // 0 is a free slot
  for (std::size_t i = 0; i < kSlots; ++i) {
    std::atomic<std::uint64_t>& slot = hashes_[(hash / 2 + i) % kSlots];
    std::uint64_t there = slot.load(std::memory_order_relaxed);
    if (there == 0) {
      if (is_full()) return false;
      if (slot.compare_exchange_strong(there, hash, std::memory_order_relaxed)) {
        count_.fetch_add(1, std::memory_order_relaxed);
        return true;
      }
    }
    if (there == hash) return false;
  }
  return false;
}

void PlanRecorder::write(std::span<const std::int64_t> dims) {
  Problem problem{binding_.op, binding_.slots};
  if (!dims_.resolve(dims, problem.slots).ok()) return;
  file_.append(problem);
  if (seen_.is_full()) {
    warn_once("record " + binding_.op->full_name(),
              fmt::format("{} was launched with {} shapes; further ones are not recorded",
                          binding_.op->full_name(), SeenDims::kMaxDims));
  }
}

}  // namespace mgtune
