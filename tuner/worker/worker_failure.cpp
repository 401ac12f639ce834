#include "worker/worker_failure.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace mgtune {
namespace {

// The largest numbers of lines and stack frames in a crash's message.
constexpr std::size_t kLines = 8;
constexpr std::size_t kFrames = 3;
constexpr std::size_t kLineBytes = 400;  // template names can run over many screens

std::vector<std::string> non_empty_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string::npos) continue;
    lines.push_back(line.substr(start, kLineBytes));
  }
  return lines;
}

bool contains(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

bool is_summary(std::string_view line) {
  return line.starts_with("SUMMARY: ") && contains(line, "Sanitizer");
}

// Whether the line is kept no matter where it stands in a report. Lines of the cpu device have
// "block (".
bool is_finding(std::string_view line) {
  return contains(line, "Sanitizer:") || contains(line, "runtime error:") ||
         line.starts_with("READ of size") || line.starts_with("WRITE of size") ||
         contains(line, "block (");
}

std::vector<std::string> sanitizer_lines(const std::vector<std::string>& lines) {
  std::vector<std::string> kept;
  std::size_t frames = 0;
  for (const std::string& line : lines) {
    const bool is_frame = line.starts_with('#') && frames < kFrames;
    if (is_frame) ++frames;
    if (is_frame || is_finding(line)) kept.push_back(line);
  }
  return kept;
}

// Whether a request is tried a second time after a failure of the machine, which may be over by
// then.
bool is_tried_twice(const WorkRequest& request, const WorkReply& failed) {
  if (request.is<CountRequest>() || request.is<ProbeRequest>()) return false;
  return failed.failure == StatusCode::environment || failed.failure == StatusCode::io;
}

// Whether the request compiles several variants together. The pool tries such a request again: see
// is_worth_a_retry().
bool has_others(const WorkRequest& request) {
  const auto* compile = std::get_if<CompileRequest>(&request.work);
  return compile != nullptr && !compile->others.empty();
}

// "compiling row VEC=8 of rmsnorm.forward rows=64 T=bf16"; "" for work whose failure does not end
// the sweep.
std::string describe(const WorkRequest& request) {
  const auto text = [](const char* verb, const std::string& what, const NamedProblem& problem) {
    return fmt::format("{} {} of {} {}", verb, what, problem.op, problem.problem);
  };
  if (const auto* compile = std::get_if<CompileRequest>(&request.work)) {
    return text("compiling", compile->variant, *compile);
  }
  if (const auto* measure = std::get_if<MeasureRequest>(&request.work)) {
    return text("measuring", measure->variant, *measure);
  }
  if (const auto* final = std::get_if<FinalRequest>(&request.work)) {
    const std::set<std::string> distinct(final->variants.begin(), final->variants.end());
    return text("measuring", fmt::format("a final of {} variants", distinct.size()), *final);
  }
  return "";
}

}  // namespace

std::string crash_message(const std::string& end, const std::string& error_output) {
  std::vector<std::string> lines = non_empty_lines(error_output);
  if (std::ranges::any_of(lines, is_summary)) {
    lines = sanitizer_lines(lines);
  } else if (lines.size() > kLines) {
    lines.erase(lines.begin(), lines.end() - kLines);
  }
  std::string message = end;
  for (std::size_t i = 0; i < lines.size(); ++i) message += (i == 0 ? ": " : "\n") + lines[i];
  return message;
}

std::optional<Outcome> outcome_of(const Status& failure) {
  switch (failure.code()) {
    case StatusCode::compile_failed:
      return Outcome::compile_failed;
    case StatusCode::launch_failed:
      return Outcome::launch_failed;
    case StatusCode::timeout:
      return Outcome::timeout;
    case StatusCode::unsupported:
      return Outcome::unsupported;
    case StatusCode::device_lost:  // an access out of bounds on a GPU ends its context
      return Outcome::crashed;
    default:
      return std::nullopt;
  }
}

Status launch_failure(Status status) {
  if (status.code() != StatusCode::invalid_argument) return status;
  return {StatusCode::launch_failed, status.message()};
}

void put_failure(const Status& failure, WorkReply& reply) {
  const std::optional<Outcome> outcome = outcome_of(failure);
  if (!outcome) {
    reply = failed_reply(reply.id, failure);
    return;
  }
  reply.outcome = *outcome;
  reply.message = failure.message();
}

WorkReply failed_reply(std::int64_t id, const Status& failure) {
  WorkReply reply;
  reply.kind = WorkReply::Kind::failed;
  reply.id = id;
  reply.failure = failure.code();
  reply.message = failure.message();
  return reply;
}

WorkReply lost_reply(const WorkRequest& request, const WorkReply& begun, const LostWorker& lost) {
  const bool compiles = request.is<CompileRequest>();
  if (lost.from_outside) {
    return failed_reply(request.id, environment_error(fmt::format(
                                        "the {} worker was {}; is the machine short of memory?",
                                        worker_kind(request), lost.end)));
  }
  WorkReply reply;
  reply.id = request.id;
  reply.outcome = compiles ? Outcome::compile_failed : Outcome::crashed;
  reply.message = lost.reason.message();
  if (lost.reason.code() == StatusCode::io) {
    reply.message = (compiles ? "compile worker: " : "") + lost.end;
  } else if (lost.reason.code() == StatusCode::timeout) {
    reply.outcome = Outcome::timeout;
    reply.message = fmt::format("{}not done within {}{}", compiles ? "the compiler was " : "",
                                lost.deadline, lost.deadline_basis);
  }
  if (begun.phase == WorkReply::Phase::variant) return reply;
  return failed_reply(
      request.id,
      invalid_argument(begun.message + ": the process that runs the reference and its " +
                       "fill kernels: " + reply.message));
}

bool is_worth_a_retry(const WorkRequest& request, const WorkReply& reply) {
  if (request.is<ProbeRequest>() || has_others(request)) return false;
  const bool compiles = request.is<CompileRequest>();
  if (reply.kind != WorkReply::Kind::failed) {
    return reply.outcome == Outcome::crashed || (!compiles && reply.outcome == Outcome::timeout);
  }
  return !(compiles && reply.failure == StatusCode::environment) && is_tried_twice(request, reply);
}

bool is_worth_a_retry(const WorkRequest& request, const LostWorker& lost) {
  if (request.is<ProbeRequest>() || has_others(request)) return false;
  const bool compiles = request.is<CompileRequest>();
  return !compiles || (lost.reason.code() != StatusCode::timeout && !lost.from_outside);
}

bool is_starved(std::chrono::milliseconds used, std::chrono::milliseconds passed) {
  return 4 * used < 3 * passed;
}

std::string_view worker_kind(const WorkRequest& request) {
  if (const auto* probe = std::get_if<ProbeRequest>(&request.work)) return probe->worker;
  if (request.is<CompileRequest>()) return CompileRequest::kKind;
  return request.is<CountRequest>() ? CountRequest::kKind : MeasureRequest::kKind;
}

Status end_of_sweep(const WorkRequest& request, const WorkReply& failed) {
  // A mistake of the family, for example in its reference, is the same for every variant.
  if (failed.failure == StatusCode::invalid_argument) return invalid_argument(failed.message);
  const std::string work = describe(request);
  if (work.empty()) return {failed.failure, failed.message};
  std::string message = failed.message + "\nwhile " + work;
  if (is_tried_twice(request, failed)) {
    message += ", twice; nothing is recorded for it, and the same command goes on from here";
  }
  return {failed.failure, std::move(message)};
}

}  // namespace mgtune
