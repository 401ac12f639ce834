#include "database/open_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace mgtune {
namespace {

constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};
constexpr std::size_t kApplicationIdOffset = 68;  // in SQLite's header, big-endian

std::int64_t application_id(std::string_view header) {
  std::int64_t id = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    id = id * 256 + static_cast<unsigned char>(header[kApplicationIdOffset + i]);
  }
  return id;
}

Status check_header(const std::string& path, std::string_view header) {
  if (!header.starts_with(kSqliteMagic) || header.size() < 100) {
    return corrupt(path + " is not a database of results: it is no SQLite file");
  }
  if (application_id(header) != kApplicationId) {
    return incompatible(path +
                        " is not a database of results: it is another program's SQLite file");
  }
  return {};
}

// Lets SQLite roll back what a killed writer left half done; a read-only connection may not.
Status recover(const std::string& path) {
  MGTUNE_ASSIGN(const auto database, Database::open(path, Database::Access::read_write));
  return database->read_integer("SELECT count(*) FROM sqlite_schema").status();
}

}  // namespace

Status check_version(const std::string& path, std::int64_t version) {
  const std::string formats = path + " has format " + std::to_string(version) +
                              ", this mgtune has " + std::to_string(kNewestFormat);
  if (version < 0) return corrupt(formats + ": no mgtune wrote that");
  if (version > kNewestFormat) return incompatible(formats + ": use a newer mgtune");
  return {};
}

Result<bool> has_content(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return false;
    return io_error("cannot read " + path + ": " + std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) return io_error(path + " is not a file");
  return info.st_size > 0;
}

Result<std::unique_ptr<Database>> open_to_read(const std::string& path) {
  MGTUNE_ASSIGN(const bool present, has_content(path));
  if (!present) return not_found("there is no database " + path);
  MGTUNE_ASSIGN(auto database, Database::open(path, Database::Access::read_only));
  MGTUNE_ASSIGN(const std::string header, database->header());
  MGTUNE_TRY(check_header(path, header));
  Result<std::int64_t> version = database->read_integer("PRAGMA user_version");
  if (!version.ok() && database->needs_recovery()) {
    MGTUNE_TRY(recover(path));
    version = database->read_integer("PRAGMA user_version");
  }
  MGTUNE_TRY(version.status());
  MGTUNE_TRY(check_version(path, *version));
  return database;
}

}  // namespace mgtune
