#include "store/file/store_file.h"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "database/open_file.h"
#include "store/file/copy.h"
#include "store/file/place_guard.h"
#include "store/file/store_check.h"
#include "store/schema.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

// A reader has all of an older file in memory.
constexpr std::int64_t kMaxBytesInMemory = std::int64_t{512} << 20;

// File systems that other hosts can have mounted too, or that may lack shared memory maps.
// Written out because <linux/magic.h> lacks half of them.
constexpr std::array<std::uint32_t, 15> kNetworkMagic = {
    0x00006969,  // NFS
    0x0000517b,  // SMB
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB2
    0x0bd00bd0,  // Lustre
    0x65735546,  // FUSE: sshfs, gcsfuse, s3fs
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
    0x00c36400,  // Ceph
    0xaad7aaea,  // Panasas
    0x5346414f,  // OpenAFS
    0x01021997,  // 9P: WSL, virtual machines
    0x786f4256,  // VirtualBox shared folders
    0x01161970,  // GFS2
    0x7461636f,  // OCFS2
};

Result<std::unique_ptr<Database>> open_checked(const std::string& path) {
  MGTUNE_ASSIGN(auto database, open_to_read(path));
  MGTUNE_TRY(check_schema(*database));  // before anything else runs what the file says
  MGTUNE_ASSIGN(const std::string damage, database->read_text("PRAGMA quick_check(1)"));
  if (damage != "ok") return corrupt(path + " is damaged: " + damage);
  return database;
}

// A reader of an older format reads a copy in memory that is brought up to date: the file stays as
// it is, for the older mgtune that may still use it.
Result<std::unique_ptr<Database>> up_to_date(std::unique_ptr<Database> database) {
  MGTUNE_ASSIGN(const std::int64_t version, database->read_integer("PRAGMA user_version"));
  if (version == kNewestFormat) return database;
  MGTUNE_ASSIGN(auto copy, copy_to_memory(*database, kMaxBytesInMemory));
  MGTUNE_TRY(migrate(*copy, schema_steps()));
  return copy;
}

Status make_parent(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? Status() : FileSystem::real().create_directories(parent, 0700);
}

Result<std::unique_ptr<Database>> open_for_writing(const std::string& path) {
  MGTUNE_ASSIGN(auto database, Database::open(path, Database::Access::create));
  MGTUNE_TRY(check_schema(*database));  // again, because the file may be another one by now
  // Tables first, in DELETE mode: the file's header then carries our application id from its first
  // commit on, whatever kills this process later.
  MGTUNE_TRY(migrate(*database, schema_steps()));
  // Changing the mode needs the file alone for a moment. If others have it open, the mode stays.
  static_cast<void>(database->read_text(can_have_wal(path) ? "PRAGMA journal_mode = WAL"
                                                           : "PRAGMA journal_mode = DELETE"));
  watch_place(*database);
  return database;
}

}  // namespace

bool is_network_file_system(std::uint32_t magic) {
  return std::ranges::find(kNetworkMagic, magic) != kNetworkMagic.end();
}

bool can_have_wal(const std::string& path) {
  struct statfs info {};
  return ::statfs(path.c_str(), &info) == 0 &&
         !is_network_file_system(static_cast<std::uint32_t>(info.f_type));
}

Result<std::unique_ptr<Database>> open_store_file(const std::string& path, Store::Mode mode) {
  if (path.empty()) return invalid_argument("the path of the database of results is empty");
  if (mode == Store::Mode::read_only) {
    MGTUNE_ASSIGN(auto database, open_checked(path));
    return up_to_date(std::move(database));
  }
  MGTUNE_ASSIGN(const bool present, has_content(path));
  if (present) {
    MGTUNE_ASSIGN(const auto database, open_checked(path));
    MGTUNE_TRY(check_rows(*database));
  } else {
    MGTUNE_TRY(make_parent(path));
  }
  return open_for_writing(path);
}

void leave_at_rest(Database& database) {
  if (database.has_lost_file()) return;  // the log's name belongs to another file by now
  database.set_busy_timeout(0);
  static_cast<void>(database.read_text("PRAGMA journal_mode = DELETE"));
}

}  // namespace mgtune
