// Each field of a record is a column of its table, and is read back from it.

#include "database/field.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "store/schema.h"
#include "tests/helpers/filled_record.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

class FieldTest : public StoreTest {
 protected:
  // That `table` has a column of the right type for each field of its record.
  template <typename Record>
  void expect_columns(const std::string& table, const Record& record) {
    for_each_column(record, [&](const auto& field, const auto& value) {
      const std::string type = column_type(sql_value(value));
      EXPECT_EQ(*database().read_text("SELECT type FROM pragma_table_info('" + table +
                                      "') WHERE name = '" + field.name + "'"),
                type.substr(0, type.find(' ')))
          << table << "." << field.name;
    });
  }

  Database& database() {
    if (database_ == nullptr) {
      database_ = Database::open(folder_.file("tables.db"), Database::Access::create).value();
      EXPECT_TRUE(migrate(*database_, schema_steps()).ok());
    }
    return *database_;
  }

  std::unique_ptr<Database> database_;
};

TEST_F(FieldTest, TablesHaveTheColumnsOfTheirRecords) {
  for_each_table(
      [&](const std::string& table, const auto& record) { expect_columns(table, record); });
}

TEST_F(FieldTest, WhatAnOutcomeFoundComesBackWithEveryField) {
  Store store = open();
  OutcomeRecord outcome = outcome_in(store);
  outcome.build = filled_record<BuildRecord>();
  outcome.check = filled_record<CheckRecord>();
  outcome.measurement = filled_record<MeasurementRecord>();
  ASSERT_TRUE(store.record(outcome).ok());
  const auto build = store.find_build(outcome.build.key);
  ASSERT_TRUE(build.ok() && build->has_value());
  EXPECT_TRUE(**build == outcome.build);
  const auto check = store.find_check(outcome.key);
  ASSERT_TRUE(check.ok() && check->has_value());
  EXPECT_TRUE(**check == *outcome.check);
  const auto measurement = store.find_measurement(outcome.key, outcome.measurement->method);
  ASSERT_TRUE(measurement.ok() && measurement->has_value());
  EXPECT_TRUE(**measurement == *outcome.measurement);
  const auto views = store.outcomes();
  ASSERT_TRUE(views.ok() && views->size() == 1);
  EXPECT_TRUE(static_cast<const BuildResources&>(views->front()) == outcome.build);
  EXPECT_TRUE(*views->front().check == *outcome.check);
  EXPECT_TRUE(*views->front().measurement == *outcome.measurement);
}

TEST_F(FieldTest, RecordsDifferIfAnyFieldDoes) {
  const MeasurementRecord one = filled_record<MeasurementRecord>();
  MeasurementRecord other = one;
  EXPECT_TRUE(one == other);
  other.clocks.throttled_samples += 1;
  EXPECT_FALSE(one == other);
}

// A record that got three fields in a later version of the format.
struct GrownRecord {
  std::string note;
  double mean_ns = 0;
  std::int64_t retries = -1;
  std::string reason;

  static constexpr auto fields() {
    using R = GrownRecord;
    return std::tuple(Field{"note", &R::note}, Field{"mean_ns", &R::mean_ns, {.added_in = 7}},
                      Field{"retries", &R::retries, {.added_in = 7}},
                      Field{"reason", &R::reason, {.added_in = 7}});
  }
};

TEST_F(FieldTest, AFieldThatCameLaterIsAColumnOfItsVersionsStep) {
  Database& database = this->database();
  ASSERT_TRUE(database
                  .execute("CREATE TABLE grown (note TEXT NOT NULL) STRICT;"
                           "INSERT INTO grown VALUES ('kept')")
                  .ok());
  EXPECT_EQ(added_columns("grown", GrownRecord{}, 6), "");
  const Status added = database.execute(added_columns("grown", GrownRecord{}, 7));
  ASSERT_TRUE(added.ok()) << added.message();
  expect_columns("grown", GrownRecord{});
  EXPECT_EQ(*database.read_text("SELECT note || mean_ns || retries || '|' || reason FROM grown"),
            "kept0.0-1|");
}

}  // namespace
}  // namespace mgtune
