#include "store/transaction.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/file/copy.h"
#include "tests/helpers/database_fixture.h"

namespace mgtune {
namespace {

class TransactionTest : public DatabaseTest {};

TEST_F(TransactionTest, ATransactionIsAllOrNothing) {
  {
    const Transaction abandoned = Transaction::begin(*database_).value();
    ASSERT_TRUE(database_->execute("INSERT INTO t VALUES (1, 1, '')").ok());
  }
  EXPECT_EQ(rows(), 0);
  {
    Transaction kept = Transaction::begin(*database_).value();
    ASSERT_TRUE(database_->execute("INSERT INTO t VALUES (1, 1, '')").ok());
    ASSERT_TRUE(kept.commit().ok());
  }
  EXPECT_EQ(rows(), 1);
}

TEST_F(TransactionTest, ASecondWriterWaitsItsTimeAndThenSaysWhy) {
  const auto second = Database::open(path_, Database::Access::read_write).value();
  second->set_busy_timeout(20);
  const Transaction first = Transaction::begin(*database_).value();
  const Status status = Transaction::begin(*second).status();
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_EQ(status.message(), path_ + ": database is locked");
}

TEST_F(TransactionTest, ACopyInMemoryIsAnotherDatabase) {
  const auto copy = copy_to_memory(*database_, 1 << 20).value();
  ASSERT_TRUE(copy->execute("INSERT INTO t VALUES (1, 1, '')").ok());
  EXPECT_EQ(rows(), 0);
  EXPECT_EQ(*copy->read_integer("SELECT count(*) FROM t"), 1);
  const Status too_large = copy_to_memory(*database_, 4096).status();
  EXPECT_EQ(too_large.code(), StatusCode::io);
  EXPECT_NE(too_large.message().find(path_ + " has an older format and more than 4096 bytes"),
            std::string::npos);
}

}  // namespace
}  // namespace mgtune
