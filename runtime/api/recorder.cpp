#include "api/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/warn_once.h"
#include "system/file_descriptor.h"
#include "system/user_folders.h"

namespace mgtune {
namespace {

// One write: lines of several processes stay whole.
bool append_line(const std::string& path, const std::string& line) {
  const FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666));
  if (file.get() < 0) return false;
  return ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace

ShapeFile* ShapeFile::of_environment() {
  static const std::unique_ptr<ShapeFile> file = [] {
    std::string path = environment_variable("MGTUNE_RECORD");
    return path.empty() ? nullptr : std::make_unique<ShapeFile>(std::move(path));
  }();
  return file.get();
}

// Names of operators and the texts of problems are identifiers, numbers, '.', '=' and blanks:
// nothing that JSON would have to escape.
void ShapeFile::append(const Problem& problem) {
  const std::string line = fmt::format("{{\"operator\": \"{}\", \"problem\": \"{}\"}}\n",
                                       problem.op->full_name(), problem.text());
  const std::lock_guard lock(mutex_);
  if (failed_ || !written_.insert(line).second || append_line(path_, line)) return;
  failed_ = true;
  warn_once(path_,
            "problems are not recorded: cannot write " + path_ + ": " + std::strerror(errno));
}

void PlanRecorder::write(std::span<const std::int64_t> dims) {
  Problem problem{binding_.op, binding_.slots};
  if (!dims_.resolve(dims, problem.slots).ok()) return;
  file_.append(problem);
  if (seen_.is_full()) {
    warn_once("record " + binding_.op->full_name(),
              fmt::format("{} was launched with {} shapes; further ones are not recorded",
                          binding_.op->full_name(), SeenDims::kMost));
  }
}

}  // namespace mgtune
