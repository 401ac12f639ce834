#include "database/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

#include "core/utf8.h"
#include "system/processor_time.h"

namespace mgtune {
namespace {

constexpr int kBusyTimeoutMs = 30'000;
constexpr int kHeaderBytes = 100;
constexpr int kStepsPerClockCheck = 10'000;  // of SQLite's machine: below a millisecond
constexpr std::size_t kMostKept = 32;        // statements; a sweep has about 15 for each variant

StatusCode status_code(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return StatusCode::corrupt;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
    case SQLITE_NOMEM:
    case SQLITE_INTERNAL:
      return StatusCode::internal;
    // All statements are constants that fit the schema. If one does not compile, the file has other
    // tables.
    case SQLITE_ERROR:
      return StatusCode::corrupt;
    default:
      return StatusCode::io;
  }
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// The errno that says why no file can be made in a folder, 0 if one can. If SQLite cannot make a
// file, it tries to open it for reading, and its errno is then always that there is no such file.
int why_not_writable(const std::string& folder) {
  return ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

}  // namespace

// ---- Statement ----

void Statement::GiveBack::operator()(sqlite3_stmt* statement) const { database->keep(statement); }

void Statement::bind(const SqlValue& value) {
  ++bound_;
  int code = SQLITE_OK;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    code = sqlite3_bind_int64(statement_.get(), bound_, *integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    code = sqlite3_bind_double(statement_.get(), bound_, *real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    const std::string valid = valid_utf8(*text);
    code = sqlite3_bind_text64(statement_.get(), bound_, valid.data(), valid.size(),
                               SQLITE_TRANSIENT, SQLITE_UTF8);
  } else {
    code = sqlite3_bind_null(statement_.get(), bound_);
  }
  if (bind_failure_ == SQLITE_OK) bind_failure_ = code;
}

Result<bool> Statement::step() {
  if (bind_failure_ != SQLITE_OK) return database_->failure(bind_failure_);
  const bool reads = sqlite3_stmt_readonly(statement_.get()) != 0;
  if (reads && !began_reading_) began_reading_ = processor_time_of_this_thread();
  database_->deadline_ =
      reads ? *began_reading_ + database_->read_limit_ : std::chrono::nanoseconds::max();
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) return database_->failure(code);
  // A statement outside of a transaction is a transaction by itself.
  const bool has_written = !reads && sqlite3_get_autocommit(database_->handle_) != 0;
  if (has_written) MGTUNE_TRY(database_->check_guard());
  return false;
}

Status Statement::run() {
  while (true) {
    MGTUNE_ASSIGN(const bool at_row, step());
    if (!at_row) return {};
  }
}

SqlValue Statement::value(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_NULL:
      return {};
    case SQLITE_INTEGER:
      return integer(column);
    case SQLITE_FLOAT:
      return real(column);
    default:
      return text(column);
  }
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  if (is_null(column)) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (data == nullptr) return "";
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

// ---- Database ----

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Access access) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= access == Access::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (access == Access::create) flags |= SQLITE_OPEN_CREATE;
  // SQLite gives "" and ":memory:" a meaning of their own; "./:memory:" is a file.
  const std::string file = path.starts_with('/') ? path : "./" + path;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &handle, flags, nullptr);
  std::unique_ptr<Database> database(new Database(path, handle));
  if (code != SQLITE_OK) return database->failure(code);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  return database;
}

Database::Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {
  const auto is_late = [](void* database) {
    return static_cast<int>(processor_time_of_this_thread() >
                            static_cast<Database*>(database)->deadline_);
  };
  if (handle_ == nullptr) return;
  sqlite3_progress_handler(handle_, kStepsPerClockCheck, is_late, this);
}

Database::~Database() {
  for (sqlite3_stmt* statement : kept_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

Result<std::unique_ptr<Database>> Database::in_memory(const std::string& path) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open(":memory:", &handle);
  std::unique_ptr<Database> database(new Database(path, handle));
  if (code != SQLITE_OK) return database->failure(code);
  return database;
}

Status Database::failure(int code) {
  // If the file is lost, that may be the cause of the failure. The rows are then rescued, also if
  // the cause is another one.
  if (has_lost_file()) {
    sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
    if (Status lost = check_guard(); !lost.ok()) return lost;
  }
  if (code == SQLITE_INTERRUPT) {
    return io_error(path_ + ": reading it took more than " +
                    fmt::format("{:g}", std::chrono::duration<double>(read_limit_).count()) +
                    " s of processor time, so it was given up");
  }
  // The handle's message belongs to its last call, which need not be the one that gave `code`.
  const bool fresh = handle_ != nullptr && sqlite3_extended_errcode(handle_) == code;
  std::string message = path_ + ": " + (fresh ? sqlite3_errmsg(handle_) : sqlite3_errstr(code));
  const int kind = code & 0xff;
  const bool of_system = kind == SQLITE_IOERR || kind == SQLITE_FULL || kind == SQLITE_CANTOPEN;
  int error = fresh && of_system ? sqlite3_system_errno(handle_) : 0;
  if (kind == SQLITE_CANTOPEN && error == ENOENT) {
    if (const int of_folder = why_not_writable(folder_of(path_));
        of_folder != 0 && of_folder != ENOENT) {
      message += ": the folder " + folder_of(path_) + " cannot be written";
      error = of_folder;
    }
  }
  if (error != 0) message += std::string(" (") + std::strerror(error) + ")";
  return {status_code(code), std::move(message)};
}

Result<Statement> Database::prepare(std::string_view sql) {
  const auto kept = std::ranges::find(kept_, sql, sqlite3_sql);
  if (kept != kept_.end()) {
    sqlite3_stmt* const statement = *kept;
    kept_.erase(kept);
    return Statement(this, statement);
  }
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return failure(code);
  return Statement(this, statement);
}

// A statement that was reset holds no lock, and it is compiled again by itself if the tables
// change.
void Database::keep(sqlite3_stmt* statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  kept_.push_back(statement);
  if (kept_.size() <= kMostKept) return;
  sqlite3_finalize(kept_.front());
  kept_.erase(kept_.begin());
}

Status Database::execute(const std::string& sql) {
  deadline_ = std::chrono::nanoseconds::max();
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : failure(code);
}

Result<std::int64_t> Database::read_integer(std::string_view sql) {
  MGTUNE_ASSIGN(Statement statement, prepare(sql));
  MGTUNE_ASSIGN(const bool at_row, statement.step());
  return at_row ? statement.integer(0) : 0;
}

Result<std::string> Database::read_text(std::string_view sql) {
  MGTUNE_ASSIGN(Statement statement, prepare(sql));
  MGTUNE_ASSIGN(const bool at_row, statement.step());
  return at_row ? statement.text(0) : "";
}

std::int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(handle_); }
std::int64_t Database::changed_rows() const { return sqlite3_changes64(handle_); }
void Database::set_busy_timeout(int milliseconds) { sqlite3_busy_timeout(handle_, milliseconds); }

Result<std::string> Database::header() {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (file == nullptr || file->pMethods == nullptr) return io_error(path_ + ": cannot be read");
  sqlite3_int64 size = 0;
  int code = file->pMethods->xFileSize(file, &size);
  std::string bytes(static_cast<std::size_t>(size < kHeaderBytes ? size : kHeaderBytes), '\0');
  if (code == SQLITE_OK && !bytes.empty()) {
    code = file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), 0);
  }
  if (code != SQLITE_OK) return failure(code);
  return bytes;
}

bool Database::needs_recovery() const {
  const int code = sqlite3_extended_errcode(handle_);
  return code == SQLITE_READONLY_ROLLBACK || code == SQLITE_READONLY_RECOVERY;
}

}  // namespace mgtune
