#include "store/transaction.h"

namespace mgtune {

Result<Transaction> Transaction::begin(Database& database) {
  MGTUNE_TRY(database.execute("BEGIN IMMEDIATE"));
  return Transaction(&database);
}

// NOLINTNEXTLINE(bugprone-exception-escape): it would throw only where memory has run out
Transaction::~Transaction() {
  // A rollback that fails has nothing left to undo: SQLite rolled back by itself.
  if (database_ != nullptr) static_cast<void>(database_->execute("ROLLBACK"));
}

Status Transaction::commit() {
  MGTUNE_TRY(database_->execute("COMMIT"));
  return std::exchange(database_, nullptr)->check_guard();
}

}  // namespace mgtune
