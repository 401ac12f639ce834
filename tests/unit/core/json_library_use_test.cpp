// Greps the sources for includes of the JSON library: runtime/json/ is the only folder that knows
// it. Its headers lie among the system's, so that a wrong include would compile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "system/file_system.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

std::vector<std::string> files_that_include_it(const std::string& folder) {
  FileSystem& files = FileSystem::real();
  const Result<std::vector<std::string>> names = files.list_files(source_path(folder));
  EXPECT_TRUE(names.ok()) << names.status().message();
  std::vector<std::string> found;
  for (const std::string& name : names.value()) {
    if (!name.ends_with(".cpp") && !name.ends_with(".h")) continue;
    const std::string path = folder + "/" + name;
    const Result<std::string> content = files.read_file(source_path(path));
    EXPECT_TRUE(content.ok()) << content.status().message();
    if (content.ok() && content->find("nlohmann") != std::string::npos) found.push_back(path);
  }
  return found;
}

TEST(JsonLibraryUse, OnlyRuntimeJsonKnowsIt) {
  EXPECT_THAT(
      files_that_include_it("runtime"),
      testing::UnorderedElementsAre("runtime/json/json.cpp", "runtime/json/json_value.cpp"));
  for (const char* folder : {"profiler", "reports", "tuner"}) {
    EXPECT_THAT(files_that_include_it(folder), testing::IsEmpty());
  }
}

}  // namespace
}  // namespace mgtune
