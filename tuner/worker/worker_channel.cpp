#include "worker/worker_channel.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "system/file_descriptor.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

Status errno_status(const char* what) {
  return io_error(std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

Result<WorkerChannel> WorkerChannel::open() {
  WorkerChannel channel;
  channel.requests_ = FileDescriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  channel.replies_ = FileDescriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const bool moved = channel.requests_.is_open() && channel.replies_.is_open() &&
                     nothing.is_open() && ::dup2(nothing.get(), STDIN_FILENO) >= 0 &&
                     ::dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
  if (!moved) return errno_status("taking over standard input and output");
  return channel;
}

Status WorkerChannel::serve_each(
    const std::function<Status(const WorkRequest&, WorkReply&)>& handle,
    const std::function<void()>& tidy_up) {
  while (true) {
    MGTUNE_ASSIGN(const std::optional<WorkRequest> request, next_request());
    if (!request) return {};
    MGTUNE_TRY(begin(request->id));
    WorkReply reply;
    reply.id = request->id;
    Status status = handle(*request, reply);
    if (!status.ok()) put_failure(status, reply);
    MGTUNE_TRY(send(reply));
    if (status.code() == StatusCode::device_lost) return status;
    tidy_up();
  }
}

Result<std::optional<WorkRequest>> WorkerChannel::next_request() {
  std::size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    const ssize_t bytes = read_some(requests_.get(), buffer_);
    if (bytes < 0) return errno_status("reading a request");
    if (bytes == 0) return std::optional<WorkRequest>();
  }
  const std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  MGTUNE_ASSIGN(WorkRequest request, decode_request(line));
  return std::optional<WorkRequest>(std::move(request));
}

Status WorkerChannel::begin(std::int64_t id, WorkReply::Phase phase, std::string what) {
  WorkReply reply;
  reply.kind = WorkReply::Kind::begin;
  reply.id = id;
  reply.phase = phase;
  reply.message = std::move(what);
  return send(reply);
}

Status WorkerChannel::send(const WorkReply& reply) {
  if (write_all(replies_.get(), encode(reply) + '\n')) return {};
  return errno_status("writing a reply");
}

}  // namespace mgtune
