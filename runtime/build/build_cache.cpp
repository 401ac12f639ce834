#include "build/build_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "build/cache_entry.h"
#include "build/private_file.h"
#include "core/sha256.h"
#include "core/user_folders.h"

namespace mgtune {
namespace {

constexpr std::string_view kSuffix = ".build";
constexpr std::size_t kMaxEntryBytes = std::size_t{256} << 20;
constexpr std::time_t kAbandonedSeconds = 3600;  // no store takes that long: its process is gone

struct CachedFile {
  std::string path;
  std::int64_t bytes = 0;
  struct timespec written {};
  bool temporary = false;
};

// "<key>.build", or "<key>.build.XXXXXX" while it is being written. Whatever else lies in the
// directory is not ours to touch.
std::optional<CachedFile> cached_file(const std::string& directory, const std::string& name) {
  const std::string_view text = name;
  const std::size_t key_end = std::min(text.find('.'), text.size());
  if (!is_sha256_hex(text.substr(0, key_end))) return std::nullopt;
  const std::string_view rest = text.substr(key_end);
  const bool temporary =
      rest.size() == kSuffix.size() + 7 && rest.starts_with(kSuffix) && rest[kSuffix.size()] == '.';
  if (rest != kSuffix && !temporary) return std::nullopt;
  struct stat info {};
  std::string path = directory + "/" + name;
  if (::lstat(path.c_str(), &info) != 0) return std::nullopt;
  return CachedFile{std::move(path), info.st_size, info.st_mtim, temporary};
}

bool is_older(const CachedFile& a, const CachedFile& b) {
  if (a.written.tv_sec != b.written.tv_sec) return a.written.tv_sec < b.written.tv_sec;
  return a.written.tv_nsec < b.written.tv_nsec;
}

// Once a process and directory: a sweep asks thousands of times.
void warn_once(const std::string& directory, const std::string& reason) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::lock_guard lock(mutex);
  if (!warned.insert(directory).second) return;
  std::fprintf(stderr, "mgtune: warning: builds are not cached: %s\n", reason.c_str());
}

Status no_folder() {
  return environment_error("MGTUNE_CACHE_DIR, XDG_CACHE_HOME and HOME name no folder");
}

}  // namespace

BuildCache::BuildCache(FileSystem& file_system, std::string directory, std::int64_t max_bytes)
    : file_system_(file_system), directory_(std::move(directory)), max_bytes_(max_bytes) {}

std::string BuildCache::default_directory() {
  if (std::string named = environment_variable("MGTUNE_CACHE_DIR"); !named.empty()) return named;
  return user_cache_folder();
}

BuildCache BuildCache::of_user() {
  BuildCache cache(FileSystem::real(), default_directory());
  if (cache.directory_.empty()) warn_once("", no_folder().message());
  return cache;
}

Status BuildCache::check(const std::string& directory) {
  if (directory.empty()) return no_folder();
  FileSystem& files = FileSystem::real();
  MGTUNE_TRY(files.create_directories(directory, 0700));
  MGTUNE_TRY(check_private_directory(directory));
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
             !check_private_directory(directory_).ok()) {
    return std::nullopt;  // not there, not readable, or in a directory that is not ours to clean
  }
  // An entry that cannot be removed will be a miss again.
  static_cast<void>(file_system_.remove(entry_path(key)));
  return std::nullopt;
}

Status BuildCache::store(const Build& build) {
  if (directory_.empty()) return {};
  Status status = keep(build);
  if (!status.ok()) warn_once(directory_, status.message());
  return status;
}

Status BuildCache::keep(const Build& build) {
  if (!is_sha256_hex(build.key)) return internal_error("'" + build.key + "' is no build key");
  if (sha256_hex(build.binary) != build.sha256) {
    return internal_error("the build " + build.key + " does not have the hash it claims");
  }
  MGTUNE_TRY(file_system_.create_directories(directory_, 0700));
  MGTUNE_TRY(check_private_directory(directory_));
  const std::string entry = encode_cache_entry(build);
  if (entry.size() > kMaxEntryBytes) {
    return unsupported("a build of " + std::to_string(entry.size()) + " bytes is larger than " +
                       std::to_string(kMaxEntryBytes));
  }
  MGTUNE_TRY(file_system_.write_file(entry_path(build.key), entry));
  // Looking costs a stat for every entry, so only at first and after each sixteenth of the limit.
  if (written_bytes_ >= 0) written_bytes_ += static_cast<std::int64_t>(entry.size());
  if (written_bytes_ < 0 || written_bytes_ > max_bytes_ / 16) evict();
  return {};
}

void BuildCache::evict() {
  written_bytes_ = 0;
  const Result<std::vector<std::string>> names = file_system_.list_files(directory_);
  if (!names.ok()) return;  // another time
  std::vector<CachedFile> entries;
  std::int64_t bytes = 0;
  for (const std::string& name : *names) {
    std::optional<CachedFile> file = cached_file(directory_, name);
    if (!file) continue;
    if (file->temporary) {
      const bool abandoned = file->written.tv_sec + kAbandonedSeconds < std::time(nullptr);
      if (abandoned) static_cast<void>(file_system_.remove(file->path));
      continue;
    }
    bytes += file->bytes;
    entries.push_back(std::move(*file));
  }
  if (bytes <= max_bytes_) return;
  std::ranges::sort(entries, is_older);
  for (const CachedFile& entry : entries) {
    if (bytes <= max_bytes_) return;
    if (file_system_.remove(entry.path).ok()) bytes -= entry.bytes;
  }
}

}  // namespace mgtune
