
#include "system/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "system/process.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

TEST(DescriptorIo, WhatIsWrittenIsReadWholeOrUpToTheLimit) {
  const TestFolder folder;
  const std::string content(300'000, 'x');
  const FileDescriptor file(::open(folder.file("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(write_all(file.get(), content));
  ::lseek(file.get(), 0, SEEK_SET);
  std::string text = "before ";
  ASSERT_TRUE(read_all(file.get(), text, 70'000));
  EXPECT_EQ(text, "before " + content.substr(0, 70'000));
  ASSERT_TRUE(read_all(file.get(), text));
  EXPECT_EQ(text, "before " + content);
  EXPECT_EQ(read_some(file.get(), text), 0);
}

TEST(DescriptorIo, ALargeWriteGoesThroughAPipeInParts) {
  Pipe pipe = std::move(make_pipe()).value();
  const std::string content(300'000, 'x');
  std::jthread writer([&] {
    EXPECT_TRUE(write_all(pipe.writing.get(), content));
    pipe.writing.close();
  });
  ::fcntl(pipe.reading.get(), F_SETFL, 0);  // the reads below wait
  std::string text;
  EXPECT_TRUE(read_all(pipe.reading.get(), text));
  EXPECT_EQ(text, content);
}

TEST(DescriptorIo, AnEmptyPipeHasNothingToReadNow) {
  const Pipe pipe = std::move(make_pipe()).value();
  std::string text = "kept";
  EXPECT_EQ(read_some(pipe.reading.get(), text), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(text, "kept");
}

TEST(DescriptorIo, ABadDescriptorIsAFailure) {
  std::string text;
  EXPECT_FALSE(read_all(-1, text));
  EXPECT_EQ(errno, EBADF);
  EXPECT_FALSE(write_all(-1, "x"));
  EXPECT_EQ(errno, EBADF);
}

TEST(DescriptorIo, SendingToAClosedSocketRaisesNoSignal) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const FileDescriptor here(ends[0]);
  ::close(ends[1]);
  EXPECT_FALSE(send_all(here.get(), "x"));
  EXPECT_EQ(errno, EPIPE);
}

}  // namespace
}  // namespace mgtune
