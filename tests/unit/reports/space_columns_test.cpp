#include "analysis/space_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/helpers/made_up_report.h"

namespace mgtune {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

SpaceColumns columns_of(const std::vector<std::string>& texts) {
  std::vector<ReportVariant> variants;
  for (const std::string& text : texts) {
    variants.emplace_back();
    variants.back().view.variant = text;
  }
  return space_columns(variants);
}

// As the page puts a variant's text together again.
std::string text_of(const SpaceColumns& space, std::size_t row) {
  const DesignColumns& design = space.designs[static_cast<std::size_t>(space.design[row])];
  std::string text = design.name;
  for (const std::size_t parameter : design.parameters) {
    const ParameterColumn& column = space.parameters[parameter];
    text += " " + column.name + "=" + column.values[static_cast<std::size_t>(column.index[row])];
  }
  return text;
}

TEST(SpaceColumnsTest, ValuesAreInNaturalOrderAndSharedByDesigns) {
  const SpaceColumns space =
      columns_of({"row VEC=16 LOAD=normal", "row VEC=2 LOAD=early", "bulk VEC=4 PDL=true"});
  ASSERT_THAT(space.designs, SizeIs(2));
  ASSERT_THAT(space.parameters, SizeIs(3));
  EXPECT_THAT(space.parameters[0].values, ElementsAre("2", "4", "16"));
  EXPECT_THAT(space.parameters[0].index, ElementsAre(2, 0, 1));
  EXPECT_THAT(space.parameters[1].index, ElementsAre(1, 0, -1)) << "bulk has no LOAD";
  EXPECT_THAT(space.design, ElementsAre(0, 0, 1));
}

TEST(SpaceColumnsTest, EveryTextCanBePutTogetherAgain) {
  const std::vector<std::string> texts = {"row VEC=8 PDL=true",
                                          "row VEC=08 PDL=x=y",
                                          "row  VEC=8",
                                          "row VEC=8 ",
                                          "",
                                          "a b",
                                          "<img src=x onerror=alert(1)>",
                                          "row VEC=1 VEC=2",
                                          "row PDL=true VEC=8",
                                          "row =1"};
  const SpaceColumns space = columns_of(texts);
  for (std::size_t row = 0; row < texts.size(); ++row) EXPECT_EQ(text_of(space, row), texts[row]);
}

}  // namespace
}  // namespace mgtune
