#include "worker/worker_channel.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "system/file_descriptor.h"
#include "worker/request_reader.h"
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
    const std::function<void()>& tidy_up,
    const std::function<void(const WorkRequest&)>& look_ahead) {
  MGTUNE_ASSIGN(const std::unique_ptr<RequestReader> reader,
                RequestReader::start(requests_.get(), look_ahead));
  using ReaderClock = RequestReader::Clock;
  ReaderClock::time_point replied = ReaderClock::now();
  while (true) {
    MGTUNE_ASSIGN(const std::optional<RequestReader::Arrived> arrived, reader->next());
    if (!arrived) return {};
    const WorkRequest& request = arrived->request;
    MGTUNE_TRY(begin(request.id));
    WorkReply reply;
    reply.id = request.id;
    Status status = handle(request, reply);
    if (!status.ok()) put_failure(status, reply);
    const ReaderClock::time_point begun = std::max(replied, arrived->at);
    replied = ReaderClock::now();
    if (reply.seconds) {
      reply.seconds->all = std::chrono::duration<double>(replied - begun).count();
    }
    MGTUNE_TRY(send(reply));
    if (status.code() == StatusCode::device_lost) return status;
    tidy_up();
  }
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
