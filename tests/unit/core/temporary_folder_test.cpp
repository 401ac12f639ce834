#include "system/temporary_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(BuildTemporaryFolder, HoldsPrivateFilesForItsLifetime) {
  std::string path;
  {
    const TemporaryFolder folder = TemporaryFolder::create().value();
    path = folder.path();
    struct stat state {};
    ASSERT_EQ(stat(path.c_str(), &state), 0);
    EXPECT_EQ(state.st_mode & 0777, 0700U);
    ASSERT_TRUE(folder.write("a/b/c.txt", std::string_view("x\0y", 3)).ok());
    ASSERT_TRUE(folder.write("a/b/c.txt", "again").ok());
    EXPECT_EQ(read(path + "/a/b/c.txt"), "again");
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(BuildTemporaryFolder, MovesWithItsContent) {
  TemporaryFolder first = TemporaryFolder::create().value();
  const std::string path = first.path();
  TemporaryFolder second = TemporaryFolder::create().value();
  const std::string replaced = second.path();
  second = std::move(first);
  EXPECT_EQ(second.path(), path);
  EXPECT_TRUE(fs::exists(path));
  EXPECT_FALSE(fs::exists(replaced));
}

TEST(BuildTemporaryFolder, NamesDoNotLeadOut) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  for (const char* name : {"../x", "/tmp/x", "a/../../x", "a/../x", "", "a/"}) {
    EXPECT_THAT(folder.write(name, "").message(), HasSubstr("not a file below its folder")) << name;
  }
}

TEST(BuildTemporaryFolder, SaysWhyItCannotWrite) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  ASSERT_TRUE(folder.write("file", "").ok());
  EXPECT_EQ(folder.write("file/below", "").code(), StatusCode::io);
}

TEST(BuildTemporaryFolder, ThoseOfKilledProcessesAreRemovedAndNoOthers) {
  const TemporaryFolder parent = TemporaryFolder::create().value();
  const std::string mine = parent.path() + "/mgtune-foreign";
  fs::create_directory(mine);  // no lock: not known to be one of ours

  setenv("TMPDIR", parent.path().c_str(), 1);
  const TemporaryFolder living = TemporaryFolder::create().value();
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const TemporaryFolder abandoned = TemporaryFolder::create().value();
    [[maybe_unused]] const bool written = abandoned.write("sub/file", "x").ok();
    [[maybe_unused]] const ssize_t sent =
        write(ends[1], abandoned.path().data(), abandoned.path().size());
    kill(getpid(), SIGKILL);
  }
  close(ends[1]);
  std::array<char, 1024> buffer{};
  const ssize_t bytes = ::read(ends[0], buffer.data(), buffer.size());
  close(ends[0]);
  waitpid(child, nullptr, 0);
  ASSERT_GT(bytes, 0);
  const std::string abandoned(buffer.data(), static_cast<std::size_t>(bytes));

  ASSERT_TRUE(fs::exists(abandoned + "/sub/file"));
  TemporaryFolder::remove_abandoned();
  unsetenv("TMPDIR");
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(living.path()));
  EXPECT_TRUE(fs::exists(mine));
}

// What a process leaves that is killed after it wrote one file into its folder.
std::string leave_folder_behind(const std::string& parent) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("TMPDIR", parent.c_str(), 1);
    const TemporaryFolder folder = TemporaryFolder::create().value();
    static_cast<void>(folder.write("file", "x").ok());
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  for (const auto& entry : fs::directory_iterator(parent)) {
    if (fs::exists(entry.path() / "file")) return entry.path().string();
  }
  return "";
}

TEST(BuildTemporaryFolder, NothingIsRemovedThatIsNotMarked) {
  const TemporaryFolder parent = TemporaryFolder::create().value();
  const std::string precious = parent.path() + "/precious";
  fs::create_directory(precious);
  std::ofstream(precious + "/file") << "x";
  std::ofstream(precious + "/.lock").close();

  const TestFolder elsewhere;
  const std::string marked = leave_folder_behind(elsewhere.path());
  ASSERT_FALSE(marked.empty());

  const std::string below = parent.path() + "/tmp";
  fs::create_directory(below);
  for (const char* name : {"mgtune-nolock", "mgtune-nomark", "mgtune-copied", "mgtune-others"}) {
    const std::string folder = below + "/" + name;
    fs::create_directory(folder);
    chmod(folder.c_str(), 0700);
    std::ofstream(folder + "/file") << "x";
  }
  std::ofstream(below + "/mgtune-nomark/.lock").close();
  fs::copy_file(marked + "/.lock", below + "/mgtune-copied/.lock");
  fs::copy_file(marked + "/.lock", below + "/mgtune-others/.lock");
  chmod((below + "/mgtune-others").c_str(), 0770);
  fs::create_directory_symlink(precious, below + "/mgtune-linked");
  fs::create_directory_symlink(marked, below + "/mgtune-marked");

  setenv("TMPDIR", below.c_str(), 1);
  TemporaryFolder::remove_abandoned();
  unsetenv("TMPDIR");
  for (const char* name : {"nolock", "nomark", "copied", "others", "linked", "marked"}) {
    EXPECT_TRUE(fs::exists(below + "/mgtune-" + name + "/file")) << name;
  }
}

TEST(BuildTemporaryFolder, ALinkInAFoldersContentIsRemovedAndNotFollowed) {
  const TestFolder parent;
  fs::create_directory(parent.file("precious"));
  std::ofstream(parent.file("precious/file")) << "x";
  fs::create_directory(parent.file("tmp"));
  const std::string abandoned = leave_folder_behind(parent.file("tmp"));
  ASSERT_FALSE(abandoned.empty());
  fs::create_directory_symlink(parent.file("precious"), abandoned + "/link");
  setenv("TMPDIR", parent.file("tmp").c_str(), 1);
  TemporaryFolder::remove_abandoned();
  unsetenv("TMPDIR");
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(parent.file("precious/file")));
}

// Another user who may write to the folder above exchanges an abandoned folder for a link.
TEST(BuildTemporaryFolder, AFolderThatIsExchangedForALinkEmptiesNothing) {
  const TestFolder parent;
  fs::create_directory(parent.file("precious"));
  std::ofstream(parent.file("precious/file")) << "x";
  fs::create_directory(parent.file("tmp"));
  fs::create_directory_symlink(parent.file("precious"), parent.file("link"));
  const std::string link = parent.file("link");
  for (int round = 0; round < 50; ++round) {
    const std::string abandoned = leave_folder_behind(parent.file("tmp"));
    ASSERT_FALSE(abandoned.empty());
    for (int file = 0; file < 50; ++file) std::ofstream(abandoned + "/" + std::to_string(file));
    const pid_t attacker = fork();
    if (attacker == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) {
        syscall(SYS_renameat2, AT_FDCWD, link.c_str(), AT_FDCWD, abandoned.c_str(),
                RENAME_EXCHANGE);
      }
    }
    setenv("TMPDIR", parent.file("tmp").c_str(), 1);
    for (int i = 0; i < 20; ++i) TemporaryFolder::remove_abandoned();
    unsetenv("TMPDIR");
    kill(attacker, SIGKILL);
    waitpid(attacker, nullptr, 0);
    ASSERT_TRUE(fs::exists(parent.file("precious/file"))) << "round " << round;
    std::error_code none;
    fs::remove_all(parent.file("tmp"), none);
    fs::create_directory(parent.file("tmp"));
    fs::remove_all(link, none);
    fs::create_directory_symlink(parent.file("precious"), link);
  }
}

TEST(BuildTemporaryFolder, CreatingOneRemovesNoOther) {
  const TestFolder parent;
  const std::string abandoned = leave_folder_behind(parent.path());
  ASSERT_FALSE(abandoned.empty());
  setenv("TMPDIR", parent.path().c_str(), 1);
  ASSERT_TRUE(TemporaryFolder::create().ok());
  unsetenv("TMPDIR");
  EXPECT_TRUE(fs::exists(abandoned + "/file")) << "a library does not clean up";
}

TEST(BuildTemporaryFolder, ThoseOfProcessesKilledAtAnyMomentAreRemoved) {
  const TemporaryFolder parent = TemporaryFolder::create().value();
  setenv("TMPDIR", parent.path().c_str(), 1);
  for (int round = 0; round < 100; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      while (true) {  // creating, writing, removing
        const Result<TemporaryFolder> folder = TemporaryFolder::create();
        for (const char* name : {"a", "b/c", "d"}) {
          if (folder.ok()) static_cast<void>(folder.value().write(name, "x").ok());
        }
      }
    }
    usleep(static_cast<useconds_t>(2000 + 37 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  TemporaryFolder::remove_abandoned();
  unsetenv("TMPDIR");
  for (const auto& entry : fs::directory_iterator(parent.path())) {
    EXPECT_EQ(entry.path().filename(), ".lock");
  }
}

TEST(BuildTemporaryFolder, WhoCleansUpTakesNoFolderFromTheLiving) {
  const TemporaryFolder parent = TemporaryFolder::create().value();
  setenv("TMPDIR", parent.path().c_str(), 1);
  const pid_t cleaner = fork();
  if (cleaner == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // where an assertion below ends the test
    while (true) TemporaryFolder::remove_abandoned();
  }
  for (int round = 0; round < 500; ++round) {
    const Result<TemporaryFolder> folder = TemporaryFolder::create();
    ASSERT_TRUE(folder.ok()) << folder.status().message();
    ASSERT_TRUE(folder.value().write("file", "x").ok());
    ASSERT_EQ(read(folder.value().path() + "/file"), "x");
  }
  kill(cleaner, SIGKILL);
  waitpid(cleaner, nullptr, 0);
  unsetenv("TMPDIR");
}

}  // namespace
}  // namespace mgtune
