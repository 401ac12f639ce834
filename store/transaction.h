// A transaction that writes. begin() takes the write lock, so no other writer can make a later
// statement fail. Without commit(), the destructor rolls the transaction back. Destroy it before
// its database. Private to store/. One thread at a time.

#pragma once

#include <utility>

#include "core/status.h"
#include "database/database.h"

namespace mgtune {

class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();  // NOLINT(bugprone-exception-escape): see its definition

  Status commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}

  Database* database_;
};

}  // namespace mgtune
