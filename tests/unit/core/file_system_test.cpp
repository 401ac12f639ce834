#include "system/file_system.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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

TEST(FileSystem, AMissingFileIsNotFoundAndNamed) {
  const TestFolder folder;
  const Status status = files().read_file(folder.file("none")).status();
  EXPECT_EQ(status.code(), StatusCode::not_found);
  EXPECT_EQ(status.message(), "cannot read " + folder.file("none") + ": No such file or directory");
}

TEST(FileSystem, ReadingAFolderIsAnIoError) {
  const TestFolder folder;
  EXPECT_EQ(files().read_file(folder.path()).status().code(), StatusCode::io);
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
  EXPECT_EQ(status.code(), StatusCode::not_found);
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
  EXPECT_EQ(status.code(), StatusCode::not_found);
}

}  // namespace
}  // namespace mgtune
