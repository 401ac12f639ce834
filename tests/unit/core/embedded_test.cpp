#include "core/embedded.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

std::string in_repository(std::string_view path) {
  std::ifstream file(source_path(path), std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

TEST(Embedded, FilesAreSortedAndUnique) {
  const auto files = embedded_files();
  ASSERT_FALSE(files.empty());
  for (std::size_t i = 1; i < files.size(); ++i) EXPECT_LT(files[i - 1].path, files[i].path);
}

TEST(Embedded, EveryFileIsTheRepositorysByteForByte) {
  for (const EmbeddedFile& file : embedded_files()) {
    EXPECT_EQ(file.content, in_repository(file.path)) << file.path;
  }
}

TEST(Embedded, FindsByPathAndNothingElse) {
  for (const EmbeddedFile& file : embedded_files()) {
    const auto content = embedded_file(file.path);
    ASSERT_TRUE(content.has_value()) << file.path;
    EXPECT_EQ(content->data(), file.content.data());
  }
  for (const char* path : {"", "kernels", "configs/gpus/", "configs/gpus/none.json", "zzz"}) {
    EXPECT_FALSE(embedded_file(path).has_value()) << path;
  }
}

TEST(Embedded, BringsTheGpusThatCommandsName) {
  EXPECT_TRUE(embedded_file("configs/gpus/l4.json").has_value());
  EXPECT_TRUE(embedded_file("configs/gpus/h200.json").has_value());
}

}  // namespace
}  // namespace mgtune
