#include "reports/web/page_fields.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "store/records.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

TEST(PageFieldsTest, ThePageDecodesTheFieldsOfTheRecords) {
  std::ifstream file(source_path("reports/web/src/fields.generated.ts"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text, page_fields_source()) << "run cmake --build --preset dev --target "
                                           "mgtune_page_fields, then npm run build in reports/web";
}

TEST(PageFieldsTest, TheSchemaHasAColumnForEveryFieldThatThePageShows) {
  std::ifstream file(source_path("configs/schema/report.schema.json"));
  const nlohmann::json columns =
      nlohmann::json::parse(file)["$defs"]["problem"]["properties"]["variants"]["properties"];
  const auto expect_column = [&](const auto& field, const auto&) {
    EXPECT_TRUE(columns.contains(std::string(field.name_in(kPage)))) << field.name;
  };
  const MeasurementRecord measurement;
  for_each_column_in(kPage, measurement, expect_column);
  const BuildResources resources;
  for_each_column_in(kPage, resources, expect_column);
}

}  // namespace
}  // namespace mgtune
