// A database with one table, for tests of what stands on SQLite alone.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "database/database.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {

class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest() : path_(folder_.file("test.db")) {
    database_ = Database::open(path_, Database::Access::create).value();
    EXPECT_TRUE(database_->execute("CREATE TABLE t (i INTEGER, r REAL, s TEXT) STRICT").ok());
  }

  std::int64_t rows() { return *database_->read_integer("SELECT count(*) FROM t"); }

  TestFolder folder_;
  std::string path_;
  std::unique_ptr<Database> database_;
};

}  // namespace mgtune
