#include "build/build_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "build/cache_entry.h"
#include "core/sha256.h"
#include "core/warn_once.h"
#include "system/private_file.h"
#include "system/user_folders.h"

namespace mgtune {
namespace {

constexpr std::string_view kSuffix = ".build";
constexpr const char* kSetAside = ".not-a-build";  // of folders in the place of an entry
constexpr int kMaxSetAside = 100;                  // per entry
constexpr std::size_t kMaxEntryBytes = std::size_t{256} << 20;
constexpr std::size_t kStartBytes = std::size_t{16} << 10;  // holds all but the longest logs
constexpr std::time_t kAbandonedSeconds = 3600;
constexpr double kLooksALimit = 64;  // average looks while as many bytes as the limit are written

enum class Kind : std::uint8_t { entry, temporary, foreign };

// "<key>.build", or "<key>.build.XXXXXX" while it is being written. Other files in the directory
// are not ours, and are not touched.
Kind kind_of(std::string_view name) {
  const std::size_t key_end = std::min(name.find('.'), name.size());
  if (!is_sha256_hex(name.substr(0, key_end))) return Kind::foreign;
  const std::string_view rest = name.substr(key_end);
  if (rest == kSuffix) return Kind::entry;
  const bool temporary =
      rest.size() == kSuffix.size() + 7 && rest.starts_with(kSuffix) && rest[kSuffix.size()] == '.';
  return temporary ? Kind::temporary : Kind::foreign;
}

// Warns only once, because a sweep calls this thousands of times.
void warn(const std::string& directory, const std::string& reason) {
  warn_once("cache " + directory, "builds are not cached: " + reason);
}

Status no_folder() {
  return environment_error("MGTUNE_CACHE_DIR is not set, " + why_no_user_folder("XDG_CACHE_HOME"));
}

}  // namespace

// A file of the cache.
struct BuildCache::File {
  std::string path;
  std::int64_t bytes = 0;
  struct timespec written {};
  bool temporary = false;

  bool is_older_than(const File& other) const {
    if (written.tv_sec != other.written.tv_sec) return written.tv_sec < other.written.tv_sec;
    return written.tv_nsec < other.written.tv_nsec;
  }
  // No store takes that long, so its process is dead.
  bool is_abandoned() const {
    return temporary && written.tv_sec + kAbandonedSeconds < std::time(nullptr);
  }
};

BuildCache::BuildCache(FileSystem& file_system, std::string directory, std::int64_t max_bytes)
    : file_system_(file_system), directory_(std::move(directory)), max_bytes_(max_bytes) {}

std::string BuildCache::default_directory() {
  if (std::string named = environment_variable("MGTUNE_CACHE_DIR"); !named.empty()) return named;
  return user_cache_folder();
}

BuildCache BuildCache::of_user() {
  BuildCache cache(FileSystem::real(), default_directory());
  if (cache.directory_.empty()) warn("", no_folder().message());
  return cache;
}

Status BuildCache::check(const std::string& directory) {
  if (directory.empty()) return no_folder();
  FileSystem& files = FileSystem::real();
  MGTUNE_TRY(files.create_directories(directory, 0700));
  MGTUNE_TRY(open_private_directory(directory).status());
  const std::string probe = directory + "/.mgtune-probe-" + std::to_string(::getpid());
  MGTUNE_TRY(files.write_file(probe, "probe"));
  return files.remove(probe);
}

std::string BuildCache::entry_path(const std::string& key) const {
  return directory_ + "/" + key + std::string(kSuffix);
}

std::optional<Build> BuildCache::load(const std::string& key) {
  if (directory_.empty() || !is_sha256_hex(key)) return std::nullopt;
  const Result<std::string> entry =
      read_private_file(directory_, key + std::string(kSuffix), kMaxEntryBytes);
  if (entry.ok()) {
    Result<Build> build = decode_cache_entry(key, *entry);
    if (build.ok()) return std::move(build).value();
  } else if (entry.status().code() != StatusCode::corrupt ||
             !open_private_directory(directory_).ok()) {
    return std::nullopt;  // not there, not readable, or in a directory that is not ours to clean
  }
  remove_entry(key);
  return std::nullopt;
}

// Removes an entry that does not verify. If it cannot be removed, it will be a miss again. No
// mgtune makes a folder in the place of an entry, but such a folder would keep the build out of the
// cache for ever. An empty folder is removed. A folder with content is not ours to delete, so it
// gets another name.
void BuildCache::remove_entry(const std::string& key) {
  const std::string path = entry_path(key);
  if (!file_system_.is_directory(path)) {
    static_cast<void>(file_system_.remove(path));
    return;
  }
  const Result<FileDescriptor> folder = open_private_directory(directory_);
  if (!folder.ok()) return;
  const std::string name = key + std::string(kSuffix);
  if (::unlinkat(folder->get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOTDIR) return;
  std::string other = name + kSetAside;
  for (int i = 2; i < kMaxSetAside; ++i) {
    if (::renameat(folder->get(), name.c_str(), folder->get(), other.c_str()) == 0) return;
    other = name + kSetAside + std::to_string(i);
  }
}

std::optional<std::string> BuildCache::recorded_sha256(const std::string& key) {
  if (directory_.empty() || !is_sha256_hex(key)) return std::nullopt;
  const Result<std::string> start =
      read_private_file_start(directory_, key + std::string(kSuffix), kStartBytes);
  if (!start.ok() && start.status().code() == StatusCode::not_found) return std::nullopt;
  if (start.ok()) {
    Result<CacheHeader> header = decode_cache_header(key, *start);
    if (header.ok()) return std::move(header->build.sha256);
  }
  const std::optional<Build> build = load(key);  // a damaged entry, or one with a longer log
  return build.has_value() ? std::optional(build->sha256) : std::nullopt;
}

Status BuildCache::store(const Build& build) {
  if (directory_.empty()) return {};
  Status status = keep(build);
  if (!status.ok()) warn(directory_, status.message());
  return status;
}

Status BuildCache::keep(const Build& build) {
  if (!is_sha256_hex(build.key)) return internal_error("'" + build.key + "' is no build key");
  if (sha256_hex(build.binary) != build.sha256) {
    return internal_error("the build " + build.key + " does not have the hash it claims");
  }
  MGTUNE_TRY(file_system_.create_directories(directory_, 0700));
  MGTUNE_ASSIGN(const FileDescriptor folder, open_private_directory(directory_));
  const std::string entry = encode_cache_entry(build);
  if (entry.size() > kMaxEntryBytes) {
    return unsupported("a build of " + std::to_string(entry.size()) + " bytes is larger than " +
                       std::to_string(kMaxEntryBytes));
  }
  MGTUNE_TRY(file_system_.write_file_unsynced(folder.get(), entry_path(build.key), entry));
  if (looks_after(build.key, entry.size())) evict();
  return {};
}

// Whether to look for entries to evict after this store. Looking costs one stat per entry. So a
// process looks at its first store, and later at random, with odds that grow with the bytes that it
// writes. All processes together then look as often as their writes require, and none has to know
// about the others. The key decides, because its digits are as good as random numbers.
bool BuildCache::looks_after(const std::string& key, std::size_t bytes) {
  const bool first = !std::exchange(looked_, true);
  std::uint32_t drawn = 0;
  std::from_chars(key.data(), key.data() + 8, drawn, 16);
  const double odds = kLooksALimit * static_cast<double>(bytes) / static_cast<double>(max_bytes_);
  return first || drawn < odds * 0x1p32;
}

Result<std::vector<BuildCache::File>> BuildCache::list() {
  MGTUNE_ASSIGN(const std::vector<std::string> names, file_system_.list_files(directory_));
  std::vector<File> files;
  for (const std::string& name : names) {
    const Kind kind = kind_of(name);
    if (kind == Kind::foreign) continue;
    struct stat info {};
    std::string path = directory_ + "/" + name;
    if (::lstat(path.c_str(), &info) != 0) continue;  // another process was first
    files.push_back({std::move(path), info.st_size, info.st_mtim, kind == Kind::temporary});
  }
  return files;
}

void BuildCache::evict() {
  Result<std::vector<File>> files = list();
  if (!files.ok()) return;  // the next look tries again
  std::int64_t bytes = 0;
  for (const File& file : *files) {
    if (!file.temporary) bytes += file.bytes;
    if (file.is_abandoned()) static_cast<void>(file_system_.remove(file.path));
  }
  std::ranges::sort(*files, &File::is_older_than);
  for (const File& file : *files) {
    if (bytes <= max_bytes_) return;
    if (!file.temporary && file_system_.remove(file.path).ok()) bytes -= file.bytes;
  }
}

Result<BuildCache::Usage> BuildCache::usage() {
  Usage usage;
  if (directory_.empty() || !file_system_.exists(directory_)) return usage;
  MGTUNE_ASSIGN(const std::vector<File> files, list());
  for (const File& file : files) {
    if (file.temporary) continue;
    ++usage.entries;
    usage.bytes += file.bytes;
  }
  return usage;
}

Result<BuildCache::Usage> BuildCache::clear() {
  Usage removed;
  if (directory_.empty() || !file_system_.exists(directory_)) return removed;
  MGTUNE_TRY(open_private_directory(directory_).status());
  MGTUNE_ASSIGN(const std::vector<File> files, list());
  for (const File& file : files) {
    if (file.temporary && !file.is_abandoned()) continue;
    MGTUNE_TRY(file_system_.remove(file.path));
    if (file.temporary) continue;
    ++removed.entries;
    removed.bytes += file.bytes;
  }
  return removed;
}

}  // namespace mgtune
