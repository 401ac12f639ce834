// Database, Statement, Transaction: SQLite behind RAII and Status. Private to store/, tests
// included.
//
// Every failure names the file and carries SQLite's message: corrupt for a damaged file or one that
// is no database, io for what the operating system refused and for a file that stayed locked for
// 30 seconds, internal for a broken constraint. A double that is NaN is stored as NULL and NULL is
// read back as NaN. Statements and transactions go before their database. One thread at a time.

#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace mgtune {

class Database;

// A prepared statement. Parameters are bound in order; a failed bind comes back from step().
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  template <std::integral Integer>
  void bind(Integer value) {
    bind_integer(static_cast<std::int64_t>(value));
  }
  void bind(double value);
  void bind(std::string_view value);
  void bind(const std::optional<std::int64_t>& value);  // NULL when empty

  Result<bool> step();  // true: at a row; false: no more rows
  Status run();         // steps to the end, rows unread

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;

 private:
  friend class Database;
  Statement(Database* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}
  void bind_integer(std::int64_t value);
  void note(int code);

  Database* database_;
  sqlite3_stmt* statement_;
  int bound_ = 0;
  int bind_failure_ = 0;  // SQLite's first code that was not ok
};

class Database {
 public:
  enum class Access : std::uint8_t { read_only, read_write, create };

  // Reads nothing but the first 100 bytes: a file that is no database opens. Foreign keys are
  // enforced, schemas are not trusted.
  static Result<std::unique_ptr<Database>> open(const std::string& path, Access access);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  const std::string& path() const { return path_; }

  // A copy of it in memory, to be changed as one likes.
  Result<std::unique_ptr<Database>> copy_to_memory() const;

  // One statement with its parameters bound, not yet run.
  template <typename... Values>
  Result<Statement> query(std::string_view sql, const Values&... values) {
    Result<Statement> statement = prepare(sql);
    if (statement.ok()) (statement->bind(values), ...);
    return statement;
  }

  // One or more statements without parameters, rows unread.
  Status execute(const std::string& sql);

  // The first column of the only row of `sql`, e.g. a pragma.
  Result<std::int64_t> read_integer(std::string_view sql);
  Result<std::string> read_text(std::string_view sql);

  std::int64_t last_insert_id() const;
  std::int64_t changed_rows() const;  // by the last statement
  void set_busy_timeout(int milliseconds);

  // The first 100 bytes of the file, or fewer. They come through SQLite's own descriptor: closing
  // another one on the same file would drop the POSIX locks of every connection in this process.
  Result<std::string> header();

  // Whether the last failure was a reader meeting what a killed writer left to be rolled back.
  bool needs_recovery() const;

 private:
  friend class Statement;
  Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}
  Result<Statement> prepare(std::string_view sql);
  Status failure(int code) const;

  std::string path_;
  sqlite3* handle_;
};

// Takes the write lock at once, so that a transaction that began can finish. Rolled back unless
// committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  Status commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}

  Database* database_;
};

}  // namespace mgtune
