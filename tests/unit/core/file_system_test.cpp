#include "system/file_system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

FileSystem& files() { return FileSystem::real(); }

TEST(FileSystem, WhatIsWrittenIsRead) {
  const TestFolder folder;
  const std::string path = folder.file("a");
  std::string content(200'000, 'x');  // several reads long
  content[100] = '\0';
  ASSERT_TRUE(files().write_file(path, content).ok());
  EXPECT_EQ(*files().read_file(path), content);
  ASSERT_TRUE(files().write_file(path, "").ok());
  EXPECT_EQ(*files().read_file(path), "");
  EXPECT_EQ(folder.entries(), 1u);  // no temporary stays
}

TEST(FileSystem, AMissingFileIsNamed) {
  const TestFolder folder;
  const Status status = files().read_file(folder.file("none")).status();
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_EQ(status.message(), "cannot read " + folder.file("none") + ": No such file or directory");
}

TEST(FileSystem, ReadingAFolderIsAnIoError) {
  const TestFolder folder;
  EXPECT_EQ(files().read_file(folder.path()).status().code(), StatusCode::io);
}

TEST(FileSystem, AFileThatDoesNotEndIsNotRead) {
  const Status status = files().read_file("/dev/zero").status();
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_EQ(status.message(), "cannot read /dev/zero: over 512 MiB");
}

TEST(FileSystem, AFailedWriteLeavesTheOldContentAndNoTemporary) {
  const TestFolder folder;
  const std::string occupied = folder.file("occupied");
  ASSERT_TRUE(files().create_directories(occupied, 0700).ok());
  ASSERT_TRUE(files().write_file(folder.file("occupied/inside"), "x").ok());
  const Status status = files().write_file(occupied, "y");  // a folder is in the way
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_NE(status.message().find(occupied), std::string::npos);
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_EQ(*files().read_file(folder.file("occupied/inside")), "x");
}

TEST(FileSystem, WritingIntoAMissingFolderNamesIt) {
  const TestFolder folder;
  const Status status = files().write_file(folder.file("no/where"), "y");
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_NE(status.message().find(folder.file("no/where")), std::string::npos);
}

TEST(FileSystem, WritingReplacesALinkInsteadOfFollowingIt) {
  const TestFolder folder;
  ASSERT_TRUE(files().write_file(folder.file("target"), "old").ok());
  ASSERT_EQ(::symlink("target", folder.file("link").c_str()), 0);
  ASSERT_TRUE(files().write_file(folder.file("link"), "new").ok());
  EXPECT_EQ(*files().read_file(folder.file("target")), "old");
  EXPECT_EQ(*files().read_file(folder.file("link")), "new");
}

TEST(FileSystem, CreatesFoldersWithTheirMode) {
  const TestFolder folder;
  const std::string deep = folder.file("a/b/c");
  ASSERT_TRUE(files().create_directories(deep, 0700).ok());
  ASSERT_TRUE(files().create_directories(deep, 0700).ok());  // again is fine
  EXPECT_TRUE(files().is_directory(deep));
  struct stat info {};
  ASSERT_EQ(::stat(folder.file("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);
}

TEST(FileSystem, CreatingAFolderBelowAFileFails) {
  const TestFolder folder;
  ASSERT_TRUE(files().write_file(folder.file("a"), "").ok());
  EXPECT_FALSE(files().create_directories(folder.file("a/b"), 0700).ok());
}

TEST(FileSystem, RemovingIsOkWhenNothingIsThere) {
  const TestFolder folder;
  EXPECT_TRUE(files().remove(folder.file("none")).ok());
  ASSERT_TRUE(files().write_file(folder.file("a"), "").ok());
  EXPECT_TRUE(files().exists(folder.file("a")));
  EXPECT_TRUE(files().remove(folder.file("a")).ok());
  EXPECT_FALSE(files().exists(folder.file("a")));
}

TEST(FileSystem, ListsRegularFilesSortedAndFollowsNoLinks) {
  const TestFolder folder;
  ASSERT_TRUE(files().create_directories(folder.file("sub"), 0700).ok());
  for (const char* name : {"z", "a", "sub/m"}) {
    ASSERT_TRUE(files().write_file(folder.file(name), "").ok());
  }
  ASSERT_EQ(::symlink("..", folder.file("sub/up").c_str()), 0);
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const std::vector<std::string> expected = {"a", "sub/m", "z"};
  EXPECT_EQ(*files().list_files(folder.path()), expected);
}

TEST(FileSystem, ListingAMissingFolderFails) {
  const TestFolder folder;
  const Status status = files().list_files(folder.file("none")).status();
  EXPECT_EQ(status.code(), StatusCode::io);
}

mode_t mode_of(const std::string& path) {
  struct stat state {};
  return ::stat(path.c_str(), &state) == 0 ? state.st_mode & 0777 : 0;
}

TEST(WriteOutput, KeepsTheModeOfTheFileThatItReplaces) {
  const TestFolder folder;
  ASSERT_TRUE(files().write_file(folder.file("out"), "old").ok());
  ASSERT_EQ(::chmod(folder.file("out").c_str(), 0440), 0);
  ASSERT_TRUE(write_output(folder.file("out"), "the report", "new").ok());
  EXPECT_EQ(*files().read_file(folder.file("out")), "new");
  EXPECT_EQ(mode_of(folder.file("out")), 0440U);
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(WriteOutput, FollowsALinkInAFolderOfThisUser) {
  const TestFolder folder;
  ASSERT_TRUE(files().write_file(folder.file("target"), "old").ok());
  ASSERT_EQ(::symlink("target", folder.file("link").c_str()), 0);
  ASSERT_TRUE(write_output(folder.file("link"), "the report", "new").ok());
  EXPECT_EQ(*files().read_file(folder.file("target")), "new");
}

TEST(WriteOutput, FollowsNoLinkInAFolderThatOthersWrite) {
  const TestFolder folder;
  const std::string shared = folder.file("shared");
  ASSERT_EQ(::mkdir(shared.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(shared.c_str(), 0777), 0);
  ASSERT_TRUE(files().write_file(folder.file("target"), "old").ok());
  ASSERT_EQ(::symlink("../target", (shared + "/link").c_str()), 0);
  const Status status = write_output(shared + "/link", "the report", "new");
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_NE(status.message().find("is a link in a folder that other users can write to"),
            std::string::npos);
  EXPECT_EQ(*files().read_file(folder.file("target")), "old");
}

// While a file is written over, its owner puts a link to a file of somebody else in its place.
TEST(WriteOutput, GivesOwnerAndModeToNoOtherFile) {
  const TestFolder folder;
  const std::string shared = folder.file("shared");
  ASSERT_EQ(::mkdir(shared.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(shared.c_str(), 0777), 0);
  const std::string secret = folder.file("secret");
  ASSERT_TRUE(files().write_file(secret, "secret").ok());
  ASSERT_EQ(mode_of(secret), 0600U);
  const std::string out = shared + "/out";
  const std::string link = shared + "/link";
  std::atomic<bool> done = false;
  std::thread attacker([&] {
    while (!done) {
      static_cast<void>(::symlink(secret.c_str(), link.c_str()));
      static_cast<void>(::rename(link.c_str(), out.c_str()));
      ::unlink(out.c_str());
    }
  });
  for (int round = 0; round < 500; ++round) {
    const int file = ::open(out.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
    if (file >= 0) {
      ::fchmod(file, 0644);
      ::close(file);
    }
    static_cast<void>(write_output(out, "the report", "new").ok());
    if (mode_of(secret) != 0600U || *files().read_file(secret) != "secret") break;
  }
  done = true;
  attacker.join();
  EXPECT_EQ(mode_of(secret), 0600U);
  EXPECT_EQ(*files().read_file(secret), "secret");
}

}  // namespace
}  // namespace mgtune
