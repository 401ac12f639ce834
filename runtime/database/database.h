// Database, Statement: the C API of SQLite as classes that clean up by themselves and
// return a Status. For this folder, store/ and their tests: no other code knows SQL.
//
// Every failure has the name of the file and SQLite's message. corrupt: the file is damaged, is not
// a database, or does not have our tables. io: the operating system refused something, or the file
// was locked for 30 seconds, or reading took too long, or somebody removed the file. internal: a
// constraint of a table was violated, or SQLite was used wrongly. A double that is NaN is stored as
// NULL, and NULL is read as NaN. Bytes of a text that are not UTF-8 are stored as U+FFFD. Destroy
// statements before their database. One thread at a time.

#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace mgtune {

// A value of one of the types that SQLite has: NULL (std::monostate), integer, real, text.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string>;

inline SqlValue sql_value(SqlValue value) { return value; }
inline SqlValue sql_value(std::integral auto value) { return static_cast<std::int64_t>(value); }
inline SqlValue sql_value(double value) { return value; }
inline SqlValue sql_value(std::string_view value) { return std::string(value); }
inline SqlValue sql_value(const char* value) { return std::string(value); }
inline SqlValue sql_value(const std::string& value) { return value; }
inline SqlValue sql_value(const std::optional<std::int64_t>& value) {
  return value ? SqlValue(*value) : SqlValue();
}

class Database;

// A prepared statement. Each bind() sets the next parameter. If a bind() fails, the next step()
// returns the failure. The database must outlive the statement. When the statement is destroyed,
// the database keeps its compiled form for the next statement with the same text.
class Statement {
 public:
  void bind(const SqlValue& value);

  Result<bool> step();  // true: at a row; false: no more rows
  Status run();         // steps to the end without reading the rows

  SqlValue value(int column) const;
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;

 private:
  friend class Database;
  struct GiveBack {
    Database* database;
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(Database* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement, GiveBack{database}) {}

  Database* database_;
  std::unique_ptr<sqlite3_stmt, GiveBack> statement_;
  int bound_ = 0;
  int bind_failure_ = 0;  // SQLite's first code that was not ok
  // This thread's processor time when it began to read.
  std::optional<std::chrono::nanoseconds> began_reading_;
};

// A connection that writes asks this object, after each write and before it reports a failure,
// whether the file is still at its place. The only implementation is in store/file/place_guard.h.
class WriteGuard {
 public:
  virtual ~WriteGuard() = default;
  virtual bool has_lost_file() const = 0;  // what is written now would not be found
  virtual Status check() = 0;              // the failure of a write, if the file is lost
};

class Database {
 public:
  enum class Access : std::uint8_t { read_only, read_write, create };

  // Reads only the first 100 bytes of the file, so it does not fail if the file is not a database.
  // Foreign keys are enforced. The schema is not trusted (trusted_schema is off).
  static Result<std::unique_ptr<Database>> open(const std::string& path, Access access);
  // An empty database in memory. Its failures name `path`.
  static Result<std::unique_ptr<Database>> in_memory(const std::string& path);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  const std::string& path() const { return path_; }

  // Prepares a statement and binds its parameters: values, and rows of values (TableRow). It is not
  // run yet. Compiling a text takes SQLite about 10 us, and a sweep has some 15 statements for each
  // variant. So the last 32 statements that were destroyed are kept, and a new statement with the
  // same text uses a kept one again.
  template <typename... Values>
  Result<Statement> query(std::string_view sql, const Values&... values) {
    Result<Statement> statement = prepare(sql);
    if (statement.ok()) (bind(*statement, values), ...);
    return statement;
  }

  // Runs one or more statements without parameters. Their rows are not read.
  Status execute(const std::string& sql);

  // The first column of the first row of `sql`, which has a single row, for example of a pragma.
  Result<std::int64_t> read_integer(std::string_view sql);
  Result<std::string> read_text(std::string_view sql);

  std::int64_t last_insert_id() const;
  std::int64_t changed_rows() const;  // by the last statement
  void set_busy_timeout(int milliseconds);
  // Sets how much processor time the thread may use between the first and the last step of a
  // statement that only reads. The default is 60 s. So a file that was made to keep readers busy
  // for ever is given up. A slow disk or a locked file is not given up, because waiting takes no
  // processor time.
  void set_read_limit(std::chrono::milliseconds limit) { read_limit_ = limit; }

  void set_guard(std::unique_ptr<WriteGuard> guard) { guard_ = std::move(guard); }
  Status check_guard() { return guard_ == nullptr ? Status() : guard_->check(); }
  bool has_lost_file() const { return guard_ != nullptr && guard_->has_lost_file(); }

  // The first 100 bytes of the file, or fewer if it is shorter. They are read through SQLite's own
  // file descriptor: if this process closed another descriptor of the same file, it would lose the
  // POSIX locks of all of its connections to the file.
  Result<std::string> header();

  // Whether the last failure has this cause: a writer was killed and its transaction must be rolled
  // back, but this connection may only read.
  bool needs_recovery() const;

  // For code that needs more of SQLite than the functions above.
  sqlite3* handle() const { return handle_; }
  Status failure(int code);  // of a code that SQLite returned

 private:
  friend class Statement;
  Database(std::string path, sqlite3* handle);
  template <typename Value>
  static void bind(Statement& statement, const Value& value) {
    if constexpr (requires { value.bind_to(statement); }) {
      value.bind_to(statement);
    } else {
      statement.bind(sql_value(value));
    }
  }
  Result<Statement> prepare(std::string_view sql);
  void keep(sqlite3_stmt* statement);

  std::string path_;
  sqlite3* handle_;
  std::vector<sqlite3_stmt*> kept_;  // the one that was used last is at the end
  std::chrono::milliseconds read_limit_{60'000};
  std::chrono::nanoseconds deadline_ = std::chrono::nanoseconds::max();  // of this thread's time
  std::unique_ptr<WriteGuard> guard_;
};

}  // namespace mgtune
