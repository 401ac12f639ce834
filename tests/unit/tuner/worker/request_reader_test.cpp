#include "worker/request_reader.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "system/process.h"

namespace mgtune {
namespace {

WorkRequest probe(std::int64_t id) { return {id, ProbeRequest{"measure"}}; }

class RequestReaderTest : public ::testing::Test {
 protected:
  std::unique_ptr<RequestReader> start(RequestReader::LookAhead look_ahead) {
    return RequestReader::start(pipe_.reading.get(), std::move(look_ahead)).value();
  }
  void write(const std::string& text) { ASSERT_TRUE(write_all(pipe_.writing.get(), text)); }

  Pipe pipe_ = make_pipe().value();
};

TEST_F(RequestReaderTest, HandsOutWhatComesInOrderUntilTheEnd) {
  const auto reader = start([](const WorkRequest&) {});
  const std::string both = encode(probe(1)) + "\n" + encode(probe(2)) + "\n";
  write(both.substr(0, 10));
  write(both.substr(10));
  pipe_.writing.close();
  EXPECT_EQ((*reader->next())->request.id, 1);
  EXPECT_EQ((*reader->next())->request.id, 2);
  EXPECT_FALSE(reader->next()->has_value());
}

TEST_F(RequestReaderTest, LooksAheadWhileARequestIsAtWork) {
  std::promise<std::int64_t> seen;
  const auto reader = start([&](const WorkRequest& request) {
    if (request.id == 2) seen.set_value(request.id);
  });
  write(encode(probe(1)) + "\n");
  EXPECT_EQ((*reader->next())->request.id, 1);
  write(encode(probe(2)) + "\n");
  EXPECT_EQ(seen.get_future().get(), 2) << "nobody has asked for it yet";
  EXPECT_EQ((*reader->next())->request.id, 2);
}

TEST_F(RequestReaderTest, WhatIsNoRequestIsCorruptAfterTheRequestsBefore) {
  const auto reader = start([](const WorkRequest&) {});
  write(encode(probe(1)) + "\nnot a request\n");
  EXPECT_EQ((*reader->next())->request.id, 1);
  EXPECT_EQ(reader->next().status().code(), StatusCode::corrupt);
}

TEST_F(RequestReaderTest, EndsThoughTheParentKeepsItsEndOpen) {
  start([](const WorkRequest&) {});
  SUCCEED();
}

}  // namespace
}  // namespace mgtune
