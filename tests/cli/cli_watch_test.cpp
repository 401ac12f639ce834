// mgtune sweep --watch: the page is there while the sweep runs, and gone with it.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "device/device_lock.h"
#include "system/file_descriptor.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

FileDescriptor ask(const std::string& url, const std::string& more) {
  const std::size_t colon = url.find(':', 7);
  const std::size_t slash = url.find('/', colon);
  const std::string host = url.substr(7, slash - 7);
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1, slash - colon - 1))));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return {};
  const std::string request =
      "GET " + url.substr(slash) + more + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
  EXPECT_GT(::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL), 0);
  return socket;
}

// Until the server closes the connection.
std::string all_of(const FileDescriptor& socket) {
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t count = ::recv(socket.get(), buffer, sizeof buffer, 0);
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

std::string last_document(const std::string& events) {
  const std::string mark = "event: report\ndata: ";
  const std::size_t start = events.rfind(mark) + mark.size();
  return events.substr(start, events.find('\n', start) - start);
}

class CliWatchTest : public ::testing::Test {
 protected:
  // Starts a sweep with --watch and waits for its URL.
  std::string start() {
    mgtune_.start(
        {"sweep", "--gpu", "cpu", "--kernel", source_path("tests/families/vector_add"), "--watch"});
    const std::string before = "watch it at ";
    const auto log = [&] { return file_content(mgtune_.folder().file("err")); };
    EXPECT_TRUE(mgtune_.wait_until([&] { return log().find("/\n") != std::string::npos; }))
        << log();
    const std::string text = log();
    const std::size_t start = text.find(before) + before.size();
    return text.substr(start, text.find('\n', start) - start);
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(CliWatchTest, BrowsersSeeTheSweepConvergeUntilItEnds) {
  const std::string url = start();
  EXPECT_THAT(url, StartsWith("http://127.0.0.1:"));
  const FileDescriptor one = ask(url, "events");
  const FileDescriptor other = ask(url, "events");
  const FileDescriptor never_reads = ask(url, "events");
  EXPECT_THAT(all_of(ask(url, "")), HasSubstr("<main id=\"static\">"));
  const std::string events = all_of(one);
  EXPECT_THAT(events, HasSubstr("\"live\":true"));
  EXPECT_THAT(events, ::testing::EndsWith("event: end\ndata: {}\n\n"));
  const auto document = nlohmann::json::parse(last_document(events), nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << last_document(events);
  EXPECT_EQ(document["live"], false);
  EXPECT_GE(document["problems"][0]["count"], 2);
  EXPECT_FALSE(document["picks"].empty());
  EXPECT_EQ(last_document(all_of(other)), last_document(events));

  const Ended ended = mgtune_.finish();
  EXPECT_EQ(ended.exit_code, 3) << ended << "some variants of this family are made to fail";
  EXPECT_TRUE(mgtune_.time_to_be_gone(std::chrono::seconds(5)));
  EXPECT_FALSE(std::filesystem::exists(mgtune_.database() + "-wal")) << "one file at rest";
}

TEST_F(CliWatchTest, AnInterruptedSweepTakesThePageWithIt) {
  const std::string url = start();
  const Ended ended = mgtune_.finish(SIGINT);
  EXPECT_EQ(ended.exit_code, 130) << ended;
  EXPECT_TRUE(mgtune_.time_to_be_gone(std::chrono::seconds(5)));
  EXPECT_FALSE(ask(url, "").is_open());
  EXPECT_FALSE(std::filesystem::exists(mgtune_.database() + "-wal"));
}

TEST_F(CliWatchTest, ASweepOfRecordedShapesNeedsNoKernelForItsPage) {
  const std::string file = mgtune_.folder().file("shapes.jsonl");
  std::ofstream(file) << R"({"operator": "rmsnorm.forward", "problem": "rows=3 hidden=64 T=f32"})"
                      << "\n";
  const Ended ended =
      mgtune_.run({"sweep", "--gpu", "cpu", "--shapes", file, "--budget", "1", "--watch"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.err, HasSubstr("watch it at http://127.0.0.1:"));
}

TEST_F(CliWatchTest, ASweepThatDoesNotGetTheDeviceNamesNoPage) {
  const Result<DeviceLock> lock = DeviceLock::acquire(mgtune_.data_folder(), "cpu");
  ASSERT_TRUE(lock.ok());
  const Ended ended = mgtune_.run(
      {"sweep", "--gpu", "cpu", "--kernel", source_path("tests/families/vector_add"), "--watch"});
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("is using device cpu"), Not(HasSubstr("http://"))));
  EXPECT_TRUE(mgtune_.time_to_be_gone(std::chrono::seconds(5)));
}

}  // namespace
}  // namespace mgtune
