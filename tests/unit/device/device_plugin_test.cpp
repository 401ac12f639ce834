#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

#include "device/plugin.h"
#include "system/file_system.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

class DevicePluginTest : public testing::Test {
 protected:
  // A library made of `source` (C) by the host's compiler.
  std::string library(const std::string& source) {
    const std::string path = folder_.file("library.so");
    EXPECT_TRUE(FileSystem::real().write_file(folder_.file("library.c"), source).ok());
    const std::string command = "cc -shared -fPIC -o " + path + " " + folder_.file("library.c");
    EXPECT_EQ(std::system(command.c_str()), 0);
    return path;
  }

  TestFolder folder_;
};

TEST_F(DevicePluginTest, NamesEveryPlaceWhereThereIsNone) {
  const Status status = load_device_plugin({"/a/x.so", "/b/x.so"}).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(status.message(),
            "the cpu device's library is not there; looked for\n  /a/x.so\n  /b/x.so");
}

TEST_F(DevicePluginTest, AFileThatIsNoLibraryIsNamedWithTheLinkersWords) {
  const std::string path = folder_.file("text.so");
  ASSERT_TRUE(FileSystem::real().write_file(path, "not a library").ok());
  const Status status = load_device_plugin({"/none", path}).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_TRUE(status.message().starts_with("cannot load " + path + ": ")) << status.message();
}

TEST_F(DevicePluginTest, AnyOtherLibraryIsRefused) {
  const std::string path = library("int answer = 42;");
  EXPECT_EQ(load_device_plugin({path}).status().message(),
            path + " is not a device plugin of mgtune: it has no function mgtune_device_plugin");
}

TEST_F(DevicePluginTest, APluginOfOtherSourcesIsRefusedBeforeItIsUsed) {
  const std::string path = library(
      "struct { const char* build_id; void* info; void* open; } plugin = {\"other\", 0, 0};\n"
      "void* mgtune_device_plugin(void) { return &plugin; }");
  EXPECT_EQ(load_device_plugin({path}).status().message(),
            path + " was built from other sources than this program (other, not " MGTUNE_BUILD_ID
                   "); install both together");
}

TEST_F(DevicePluginTest, APluginOfTheSameSourcesIsTaken) {
  const std::string path = library(
      "struct { const char* build_id; void* info; void* open; } plugin = {\"" MGTUNE_BUILD_ID
      "\", 0, 0};\nvoid* mgtune_device_plugin(void) { return &plugin; }");
  const Result<const DevicePlugin*> plugin = load_device_plugin({"/none", path});
  ASSERT_TRUE(plugin.ok()) << plugin.status().message();
  EXPECT_STREQ((*plugin)->build_id, MGTUNE_BUILD_ID);
}

TEST(DevicePluginPlaces, TheVariableIsTheOnlyPlaceWhenItIsSet) {
  ::setenv("MGTUNE_CPU_PLUGIN", "/here/it/is.so", 1);
  EXPECT_EQ(cpu_plugin_places(), std::vector<std::string>{"/here/it/is.so"});
}

TEST(DevicePluginPlaces, ElseBesideThisProgramAndInTheFolderLib) {
  ::unsetenv("MGTUNE_CPU_PLUGIN");
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string beside = (program.parent_path() / "libmgruntime-cpu.so").string();
  const std::string in_lib =
      (program.parent_path().parent_path() / "lib/libmgruntime-cpu.so").string();
  const std::vector<std::string> places = cpu_plugin_places();
  EXPECT_EQ(std::ranges::count(places, beside), 1);
  EXPECT_EQ(std::ranges::count(places, in_lib), 1);
}

}  // namespace
}  // namespace mgtune
