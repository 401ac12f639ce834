#include "system/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/helpers/fakes/fake_loader.h"

namespace mgtune {
namespace {

int answer() { return 42; }

TEST(SharedLibrary, TakesTheFirstCandidateThatOpens) {
  FakeLoader loader;
  loader.libraries["libthree.so"] = {};
  loader.libraries["libtwo.so"] = {};
  const std::array<std::string, 3> candidates = {"libone.so", "libtwo.so", "libthree.so"};
  const auto library = SharedLibrary::open(candidates, loader);
  ASSERT_TRUE(library.ok());
  EXPECT_EQ(library->path(), "libtwo.so");
  EXPECT_THAT(loader.asked_for, testing::ElementsAre("libone.so", "libtwo.so"));
}

TEST(SharedLibrary, SaysWhereItLookedWhenNoneIsThere) {
  FakeLoader loader;
  const std::array<std::string, 2> candidates = {"libcuda.so.1", "/opt/cuda/libcuda.so"};
  const Status status = SharedLibrary::open(candidates, loader).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(status.message(), "not found: libcuda.so.1, /opt/cuda/libcuda.so");
}

TEST(SharedLibrary, OneThatDoesNotLoadIsTheReason) {
  FakeLoader loader;
  loader.broken["libtwo.so"] =
      "libneeded.so.3: cannot open shared object file: No such file or directory";
  loader.broken["libthree.so"] = "libthree.so: invalid ELF header";
  const std::array<std::string, 3> candidates = {"libone.so", "libtwo.so", "libthree.so"};
  EXPECT_EQ(SharedLibrary::open(candidates, loader).status().message(),
            "libtwo.so: libneeded.so.3: cannot open shared object file: No such file or directory; "
            "libthree.so: invalid ELF header");
}

TEST(SharedLibrary, NoCandidatesAreNoLibrary) {
  FakeLoader loader;
  EXPECT_EQ(SharedLibrary::open({}, loader).status().message(), "no library to look for");
}

TEST(SharedLibrary, BindsFunctions) {
  FakeLoader loader;
  loader.libraries["libanswer.so"] = {{"answer", as_symbol(&answer)}};
  const auto library = SharedLibrary::open(std::array<std::string, 1>{"libanswer.so"}, loader);
  ASSERT_TRUE(library.ok());
  int (*function)() = nullptr;
  ASSERT_TRUE(library->bind("answer", &function).ok());
  EXPECT_EQ(function(), 42);
  const Status absent = library->bind("question", &function);
  EXPECT_EQ(absent.code(), StatusCode::environment);
  EXPECT_EQ(absent.message(), "libanswer.so has no question");
  EXPECT_EQ(function(), 42);
}

TEST(SharedLibrary, TheRealLoaderFindsTheMathLibrary) {
  const auto library = SharedLibrary::open(std::array<std::string, 1>{"libm.so.6"});
  ASSERT_TRUE(library.ok()) << library.status().message();
  EXPECT_THAT(library->path(), testing::MatchesRegex("/.*libm.so.6"));
  double (*cosine)(double) = nullptr;
  ASSERT_TRUE(library->bind("cos", &cosine).ok());
  EXPECT_EQ(cosine(0), 1);
}

TEST(SharedLibrary, TheRealLoadersWordsForAnAbsentLibraryAreKnown) {
  const std::array<std::string, 2> candidates = {"libabsent-from-here.so.9", "/nowhere/libx.so"};
  EXPECT_EQ(SharedLibrary::open(candidates).status().message(),
            "not found: libabsent-from-here.so.9, /nowhere/libx.so");
}

}  // namespace
}  // namespace mgtune
