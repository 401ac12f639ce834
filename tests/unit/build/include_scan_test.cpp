#include "compiler/include_scan.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

using Files = std::vector<std::string>;

TEST(IncludeScan, FindsBothKindsInOrder) {
  const IncludeScan scan = scan_includes(
      "#include <mg/vec.cuh>\n"
      "#include \"tile.cuh\"\n"
      "int main() {}\n"
      "#include <cuda_fp16.h>");
  EXPECT_EQ(scan.files, (Files{"mg/vec.cuh", "tile.cuh", "cuda_fp16.h"}));
  EXPECT_FALSE(scan.computed);
}

TEST(IncludeScan, EverySpellingOfTheDirectiveCounts) {
  for (const char* text :
       {"  #  include \"a.h\"", "\t#\tinclude\t\"a.h\" // why", "#include\"a.h\"",
        "#/* so */include/* what */\"a.h\"", "/* x */ #include \"a.h\"", "*/ #include \"a.h\"",
        "#inc\\\nlude \"a.h\"", "#include \\\r\n\"a.h\"\r", "#if 0\n#include \"a.h\"\n#endif",
        "// #include \"a.h\"", "%:include \"a.h\"", "#include_next <a.h>", "#import \"a.h\"",
        "/* # */ #include \"a.h\"",
        "#include <a.h"
        "\n#include \"a.h\""}) {
    const Files files = scan_includes(text).files;
    EXPECT_EQ(files, Files{"a.h"}) << text;
  }
}

TEST(IncludeScan, OtherDirectivesAndTextsDoNotCount) {
  const IncludeScan scan = scan_includes(
      "#define include \"a.h\"\n#pragma once\ninclude \"b.h\"\n#\n#if defined(include)\n#");
  EXPECT_EQ(scan.files, Files{});
  EXPECT_FALSE(scan.computed);
  EXPECT_TRUE(scan_includes("").files.empty());
}

TEST(IncludeScan, SaysWhenAMacroNamesTheFile) {
  EXPECT_TRUE(scan_includes("#include TILE_HEADER\n").computed);
  EXPECT_TRUE(scan_includes("#include NAME(<a.h>)\n").computed);
  EXPECT_TRUE(scan_includes("#include\n").computed);
  EXPECT_TRUE(scan_includes("#include /* of\n */ \"a.h\"\n").computed);
  EXPECT_TRUE(scan_includes("# /*\n*/ include \"a.h\"\n").computed);
}

}  // namespace
}  // namespace mgtune
