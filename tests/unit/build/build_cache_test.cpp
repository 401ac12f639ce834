#include "build/build_cache.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "build/cache_entry.h"
#include "core/sha256.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

Build make_artifact(const std::string& name, std::size_t bytes = 100) {
  Build build;
  build.key = sha256_hex(name);
  build.arch = "sm_90a";
  build.binary = std::string(bytes, '\0') + name;
  build.sha256 = sha256_hex(build.binary);
  build.kernels = {{"first<float, 4>", "_Z5first", 32, 0, 128}, {"second<a\nb>", "", -1, -1, -1}};
  build.log = "line one\nkey 3\nline three";
  return build;
}

void expect_equal(const Build& a, const Build& b) {
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.sha256, b.sha256);
  EXPECT_EQ(a.arch, b.arch);
  EXPECT_EQ(a.binary, b.binary);
  EXPECT_EQ(a.log, b.log);
  ASSERT_EQ(a.kernels.size(), b.kernels.size());
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    EXPECT_EQ(a.kernels[i].name, b.kernels[i].name);
    EXPECT_EQ(a.kernels[i].symbol, b.kernels[i].symbol);
    EXPECT_EQ(a.kernels[i].registers, b.kernels[i].registers);
    EXPECT_EQ(a.kernels[i].spill_bytes, b.kernels[i].spill_bytes);
    EXPECT_EQ(a.kernels[i].static_shared_bytes, b.kernels[i].static_shared_bytes);
  }
}

class BuildCacheTest : public testing::Test {
 protected:
  BuildCache cache(std::int64_t max_bytes = BuildCache::kDefaultMaxBytes) const {
    return {FileSystem::real(), directory(), max_bytes};
  }
  std::string directory() const { return folder_.file("a/cache"); }
  std::string path_of(const Build& build) const { return directory() + "/" + build.key + ".build"; }
  bool has(const Build& build) const { return std::filesystem::exists(path_of(build)); }

  // Makes an entry look `hours` old.
  void age(const std::string& path, int hours) const {
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  TestFolder folder_;
};

TEST_F(BuildCacheTest, WhatIsStoredIsLoadedByAnotherProcess) {
  const Build build = make_artifact("x");
  EXPECT_FALSE(cache().load(build.key).has_value());
  ASSERT_TRUE(cache().store(build).ok());
  const std::optional<Build> loaded = cache().load(build.key);
  ASSERT_TRUE(loaded.has_value());
  expect_equal(*loaded, build);
}

TEST_F(BuildCacheTest, TheRecordedHashIsReadWithoutTheBinary) {
  Build build = make_artifact("x");
  EXPECT_FALSE(cache().recorded_sha256(build.key).has_value());
  for (const std::size_t log_bytes : {10U, 100'000U}) {
    build.log = std::string(log_bytes, 'l');
    ASSERT_TRUE(cache().store(build).ok());
    EXPECT_EQ(cache().recorded_sha256(build.key), build.sha256) << log_bytes;
  }
  build.log = "short";
  ASSERT_TRUE(cache().store(build).ok());
  const std::string entry = encode_cache_entry(build);
  const auto overwrite = [&](std::string text) {
    std::ofstream(path_of(build), std::ios::binary) << text;
  };
  overwrite(entry.substr(0, entry.size() - 1) + "!");
  EXPECT_EQ(cache().recorded_sha256(build.key), build.sha256);
  EXPECT_FALSE(cache().load(build.key).has_value()) << "the binary is verified where it is loaded";
  EXPECT_FALSE(cache().recorded_sha256(build.key).has_value()) << "and the entry is gone";
  ASSERT_TRUE(cache().store(build).ok());
  overwrite("x" + entry.substr(1));
  EXPECT_FALSE(cache().recorded_sha256(build.key).has_value());
}

TEST_F(BuildCacheTest, AnEntryIsTextInFrontOfTheBinary) {
  const Build build = make_artifact("x");
  const std::string entry = encode_cache_entry(build);
  EXPECT_TRUE(entry.starts_with("mgtune build 1\n"));
  EXPECT_NE(entry.find("\nkey 64\n" + build.key + "\narch 6\nsm_90a\n"), std::string::npos);
  EXPECT_TRUE(entry.ends_with(build.binary));
}

TEST_F(BuildCacheTest, VariablesRoundTripAndLeaveOtherEntriesAsTheyWere) {
  Build build = make_artifact("variables");
  EXPECT_EQ(encode_cache_entry(build).find("variables 1\n"), std::string::npos);
  EXPECT_EQ(encode_cache_entry(build).find("ptx_bytes"), std::string::npos);
  build.ptx_bytes = 14208;
  build.variables = {{"own::weights", "_ZN3own7weightsE"}, {"count", "count"}};
  ASSERT_TRUE(cache().store(build).ok());
  const std::optional<Build> loaded = cache().load(build.key);
  ASSERT_TRUE(loaded.has_value());
  expect_equal(*loaded, build);
  EXPECT_EQ(loaded->ptx_bytes, 14208);
  ASSERT_EQ(loaded->variables.size(), 2U);
  EXPECT_EQ(loaded->variables[0].name, "own::weights");
  EXPECT_EQ(loaded->variables[0].symbol, "_ZN3own7weightsE");
  EXPECT_EQ(loaded->variables[1].name, "count");
}

TEST_F(BuildCacheTest, BuildsWithoutAnythingRoundTrip) {
  Build build;
  build.key = sha256_hex("empty");
  build.sha256 = sha256_hex("");
  ASSERT_TRUE(cache().store(build).ok());
  expect_equal(*cache().load(build.key), build);
}

TEST_F(BuildCacheTest, StoringAgainReplaces) {
  Build build = make_artifact("x");
  ASSERT_TRUE(cache().store(build).ok());
  build.log = "other";
  ASSERT_TRUE(cache().store(build).ok());
  EXPECT_EQ(cache().load(build.key)->log, "other");
}

TEST_F(BuildCacheTest, TheDirectoryIsPrivateAndHoldsOneFileAnEntry) {
  ASSERT_TRUE(cache().store(make_artifact("x")).ok());
  struct stat info {};
  ASSERT_EQ(::stat(directory().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);
  EXPECT_EQ(FileSystem::real().list_files(directory())->size(), 1u);
  ASSERT_EQ(::stat(path_of(make_artifact("x")).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(BuildCacheTest, WithoutADirectoryNothingIsKept) {
  BuildCache none(FileSystem::real(), "");
  const Build build = make_artifact("x");
  EXPECT_TRUE(none.store(build).ok());
  EXPECT_FALSE(none.load(build.key).has_value());
  EXPECT_EQ(none.directory(), "");
}

TEST_F(BuildCacheTest, ABinaryThatIsNotWhatItClaimsIsNotKept) {
  Build build = make_artifact("x");
  build.binary += "more";
  EXPECT_EQ(cache().store(build).code(), StatusCode::internal);
  EXPECT_FALSE(has(build));
}

TEST_F(BuildCacheTest, TheOldestEntriesGoFirst) {
  const Build oldest = make_artifact("oldest", 1000), older = make_artifact("older", 1000),
              newest = make_artifact("newest", 1000);
  ASSERT_TRUE(cache().store(older).ok());
  ASSERT_TRUE(cache().store(oldest).ok());
  age(path_of(oldest), 3);
  age(path_of(older), 2);
  ASSERT_TRUE(cache(4000).store(newest).ok());  // three of about 1500 bytes each
  EXPECT_FALSE(has(oldest));
  EXPECT_TRUE(has(older));
  EXPECT_TRUE(has(newest));
}

TEST_F(BuildCacheTest, TheLimitHoldsOverManyStoresOfOneProcess) {
  BuildCache limited = cache(40'000);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(limited.store(make_artifact(std::to_string(i), 1000)).ok());
  }
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory())) {
    bytes += entry.file_size();
  }
  EXPECT_LE(bytes, 40'000u + 40'000u / 16 + 2000u);
  EXPECT_GT(bytes, 30'000u);
  EXPECT_TRUE(has(make_artifact("99")));
}

TEST_F(BuildCacheTest, EvictionTouchesNoFileThatIsNotAnEntry) {
  ASSERT_TRUE(cache().store(make_artifact("x")).ok());
  const std::string hash = sha256_hex("y");
  const std::vector<std::string> others = {"notes.txt", hash + ".cubin", hash + ".build.tooLong7",
                                           "sub/" + hash + ".build", hash};
  ASSERT_TRUE(FileSystem::real().create_directories(directory() + "/sub", 0700).ok());
  for (const std::string& name : others) {
    ASSERT_TRUE(FileSystem::real().write_file(directory() + "/" + name, "mine").ok());
    age(directory() + "/" + name, 100);
  }
  ASSERT_TRUE(cache(1).store(make_artifact("z")).ok());  // room for nothing
  EXPECT_FALSE(has(make_artifact("x")));
  for (const std::string& name : others) {
    EXPECT_TRUE(FileSystem::real().exists(directory() + "/" + name)) << name;
  }
}

// Entries of an older or a newer mgtune, whose keys are never asked for here, and one that power
// was lost over: they count, go by age like the rest, and are cleared.
TEST_F(BuildCacheTest, EntriesOfOtherFormatsAreTheCachesOwn) {
  const Build older = make_artifact("older", 1000), newer = make_artifact("newer", 1000),
              empty = make_artifact("empty"), ours = make_artifact("ours", 1000);
  const auto plant_others = [&] {
    ASSERT_TRUE(cache().store(ours).ok());
    for (const auto& [build, format] : {std::pair(older, '0'), std::pair(newer, '2')}) {
      std::string entry = encode_cache_entry(build);
      entry.replace(0, kCacheEntryFormat.size(), std::string("mgtune build ") + format);
      ASSERT_TRUE(FileSystem::real().write_file(path_of(build), entry).ok());
    }
    ASSERT_TRUE(FileSystem::real().write_file(path_of(empty), "").ok());
    age(path_of(older), 4);
    age(path_of(ours), 3);
    age(path_of(newer), 2);
    age(path_of(empty), 1);
  };
  plant_others();
  const BuildCache::Usage usage = cache().usage().value();
  const auto bytes = static_cast<std::int64_t>(encode_cache_entry(ours).size());
  EXPECT_EQ(usage.entries, 4);
  EXPECT_NEAR(static_cast<double>(usage.bytes), static_cast<double>(3 * bytes), 20);

  const Build last = make_artifact("last", 1000);
  ASSERT_TRUE(cache(2 * bytes + 100).store(last).ok());  // room for two
  EXPECT_FALSE(has(older));
  EXPECT_FALSE(has(ours));
  EXPECT_TRUE(has(newer));
  EXPECT_TRUE(has(empty));
  EXPECT_TRUE(has(last));

  plant_others();
  ASSERT_TRUE(FileSystem::real().write_file(directory() + "/notes.txt", "mine").ok());
  EXPECT_EQ(cache().clear().value().entries, 5);
  EXPECT_EQ(*FileSystem::real().list_files(directory()), std::vector<std::string>{"notes.txt"});
}

TEST_F(BuildCacheTest, TemporariesOfProcessesLongGoneAreRemoved) {
  ASSERT_TRUE(cache().store(make_artifact("x")).ok());
  const std::string abandoned = path_of(make_artifact("y")) + ".Ab1cD2";
  const std::string in_use = path_of(make_artifact("z")) + ".Ab1cD2";
  for (const std::string& path : {abandoned, in_use}) {
    ASSERT_TRUE(FileSystem::real().write_file(path, "half").ok());
  }
  age(abandoned, 2);
  ASSERT_TRUE(cache().store(make_artifact("new")).ok());
  EXPECT_FALSE(FileSystem::real().exists(abandoned));
  EXPECT_TRUE(FileSystem::real().exists(in_use));
}

TEST_F(BuildCacheTest, ADirectoryBehindALinkOfOursIsFine) {
  ASSERT_TRUE(FileSystem::real().create_directories(folder_.file("scratch"), 0700).ok());
  ASSERT_TRUE(FileSystem::real().create_directories(folder_.file("a"), 0700).ok());
  std::filesystem::create_directory_symlink(folder_.file("scratch"), directory());
  const Build build = make_artifact("x");
  ASSERT_TRUE(cache().store(build).ok());
  EXPECT_TRUE(cache().load(build.key).has_value());
}

// No mgtune makes a folder there. It must not keep the build out of the cache for ever, and what is
// in it is not ours to delete.
TEST_F(BuildCacheTest, AFolderInAnEntrysPlaceIsHealed) {
  const Build build = make_artifact("x");
  for (const bool has_content : {false, true}) {
    ASSERT_TRUE(FileSystem::real().create_directories(path_of(build), 0700).ok());
    if (has_content) {
      ASSERT_TRUE(FileSystem::real().write_file(path_of(build) + "/notes", "mine").ok());
    }
    EXPECT_EQ(cache().recorded_sha256(build.key), std::nullopt);
    EXPECT_FALSE(cache().load(build.key).has_value());
    ASSERT_TRUE(cache().store(build).ok()) << has_content;
    EXPECT_TRUE(cache().load(build.key).has_value());
    ASSERT_TRUE(cache().clear().ok());
  }
  EXPECT_EQ(*FileSystem::real().read_file(path_of(build) + ".not-a-build/notes"), "mine");
}

TEST_F(BuildCacheTest, WithoutAFolderItSaysWhichVariablesAreWrong) {
  const Variable cache_home("XDG_CACHE_HOME", "");
  const Variable home("HOME", "here");
  const Status status = BuildCache::check("");
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(status.message(),
            "MGTUNE_CACHE_DIR is not set, XDG_CACHE_HOME is not set, and HOME is 'here', which is "
            "not an absolute path");
}

TEST(BuildCacheDirectory, IsTheFirstThatTheEnvironmentNames) {
  ::unsetenv("MGTUNE_CACHE_DIR");
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  EXPECT_EQ(BuildCache::default_directory(), "");
  ::setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(BuildCache::default_directory(), "/home/someone/.cache/mgtune");
  ::setenv("XDG_CACHE_HOME", "relative", 1);  // to be ignored, says the XDG specification
  EXPECT_EQ(BuildCache::default_directory(), "/home/someone/.cache/mgtune");
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(BuildCache::default_directory(), "/cache/mgtune");
  ::setenv("MGTUNE_CACHE_DIR", "/mine", 1);
  EXPECT_EQ(BuildCache::default_directory(), "/mine");
}

}  // namespace
}  // namespace mgtune
