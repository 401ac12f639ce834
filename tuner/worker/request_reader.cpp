#include "worker/request_reader.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace mgtune {
namespace {

Status reading_failure() {
  return io_error(std::string("reading a request: ") + std::strerror(errno));
}

}  // namespace

Result<std::unique_ptr<RequestReader>> RequestReader::start(int requests, LookAhead look_ahead) {
  FileDescriptor stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop.is_open()) return reading_failure();
  return std::unique_ptr<RequestReader>(
      new RequestReader(requests, std::move(stop), std::move(look_ahead)));
}

RequestReader::RequestReader(int requests, FileDescriptor stop, LookAhead look_ahead)
    : requests_(requests),
      stop_(std::move(stop)),
      look_ahead_(std::move(look_ahead)),
      thread_([this] {
        Status end = read_all();
        {
          const std::scoped_lock lock(mutex_);
          end_ = std::move(end);
        }
        news_.notify_one();
      }) {}

RequestReader::~RequestReader() { ::eventfd_write(stop_.get(), 1); }

Result<std::optional<RequestReader::Arrived>> RequestReader::next() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [this] { return !arrived_.empty() || end_.has_value(); });
  if (arrived_.empty()) {
    if (!end_->ok()) return *end_;
    return std::optional<Arrived>();
  }
  std::optional<Arrived> first(std::move(arrived_.front()));
  arrived_.pop_front();
  return first;
}

// Reads until the parent closes its end, or until the object is destroyed.
Status RequestReader::read_all() {
  std::string buffer;
  while (true) {
    std::array<pollfd, 2> either = {{{requests_, POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    if (::poll(either.data(), either.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return reading_failure();
    }
    if (either[1].revents != 0) return {};
    const ssize_t bytes = read_some(requests_, buffer);
    if (bytes < 0 && errno == EAGAIN) continue;
    if (bytes < 0) return reading_failure();
    if (bytes == 0) return {};
    MGTUNE_TRY(add_lines(buffer));
  }
}

Status RequestReader::add_lines(std::string& buffer) {
  for (std::size_t end = 0; (end = buffer.find('\n')) != std::string::npos;) {
    const std::string line = buffer.substr(0, end);
    buffer.erase(0, end + 1);
    Arrived arrived{.request = {}, .at = Clock::now()};
    MGTUNE_ASSIGN(arrived.request, decode_request(line));
    look_ahead_(arrived.request);
    {
      const std::scoped_lock lock(mutex_);
      arrived_.push_back(std::move(arrived));
    }
    news_.notify_one();
  }
  return {};
}

}  // namespace mgtune
