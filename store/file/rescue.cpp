#include "store/file/rescue.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "store/file/copy.h"
#include "system/file_descriptor.h"
#include "system/file_system.h"
#include "system/user_folders.h"

namespace mgtune {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxNames = 1000;

// Creates "results.rescued.db" or, if that exists, "results.rescued-2.db" and so on. No file or
// link that exists is opened.
Result<std::string> create_rescue_file(const fs::path& folder, const fs::path& path) {
  for (int number = 1; number <= kMaxNames; ++number) {
    const std::string suffix = number == 1 ? "" : "-" + std::to_string(number);
    const fs::path name = path.stem().string() + ".rescued" + suffix + path.extension().string();
    const std::string file = (folder / name).string();
    const FileDescriptor created(
        ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (created.is_open()) return file;
    if (errno != EEXIST) return io_error("cannot create " + file + ": " + std::strerror(errno));
  }
  return io_error("there are " + std::to_string(kMaxNames) + " rescued files in " +
                  folder.string());
}

Status copy_rows(Database& database, const std::string& file) {
  MGTUNE_ASSIGN(const auto copy, Database::open(file, Database::Access::read_write));
  MGTUNE_TRY(copy_database(database, *copy));
  // The header of a file with a write-ahead log says so. The copy is complete without one.
  static_cast<void>(copy->read_text("PRAGMA journal_mode = DELETE"));
  return {};
}

}  // namespace

Result<std::string> rescue_rows(Database& database) {
  const fs::path path = database.path();
  const std::string of_user = user_data_folder();
  if (!of_user.empty()) static_cast<void>(FileSystem::real().create_directories(of_user, 0700));
  Status failure;
  for (const fs::path& folder : {path.parent_path(), fs::path(of_user)}) {
    Result<std::string> file = create_rescue_file(folder, path);
    Status copied = file.ok() ? copy_rows(database, *file) : file.status();
    if (copied.ok()) return file;
    if (file.ok()) {
      for (const char* part : {"", "-journal", "-wal", "-shm"}) ::unlink((*file + part).c_str());
    }
    if (failure.ok()) failure = std::move(copied);
  }
  return failure;
}

}  // namespace mgtune
