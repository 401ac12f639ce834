#include "api/boundary.h"

#include <pthread.h>

#include <atomic>
#include <string>

namespace mgtune {
namespace {

static_assert(static_cast<int>(StatusCode::ok) == MGR_OK);
static_assert(static_cast<int>(StatusCode::invalid_argument) == MGR_INVALID_ARGUMENT);
static_assert(static_cast<int>(StatusCode::not_found) == MGR_NOT_FOUND);
static_assert(static_cast<int>(StatusCode::environment) == MGR_ENVIRONMENT);
static_assert(static_cast<int>(StatusCode::corrupt) == MGR_CORRUPT);
static_assert(static_cast<int>(StatusCode::incompatible) == MGR_INCOMPATIBLE);
static_assert(static_cast<int>(StatusCode::io) == MGR_IO);
static_assert(static_cast<int>(StatusCode::compile_failed) == MGR_COMPILE_FAILED);
static_assert(static_cast<int>(StatusCode::launch_failed) == MGR_LAUNCH_FAILED);
static_assert(static_cast<int>(StatusCode::timeout) == MGR_TIMEOUT);
static_assert(static_cast<int>(StatusCode::device_lost) == MGR_DEVICE_LOST);
static_assert(static_cast<int>(StatusCode::unsupported) == MGR_UNSUPPORTED);
static_assert(static_cast<int>(StatusCode::internal) == MGR_INTERNAL);

std::string& last_error() {
  thread_local std::string message;
  return message;
}

std::atomic<bool> forked = false;

}  // namespace

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

void watch_for_forks() noexcept {
  static const int watching = ::pthread_atfork(nullptr, nullptr, [] { forked = true; });
  static_cast<void>(watching);
}

mgr_status_t fail(mgr_status_t code, const char* message) noexcept {
  try {
    last_error() = message;
  } catch (...) {
    last_error().clear();  // no memory for the text: the code alone must do
  }
  return code;
}

mgr_status_t fail(const Status& status) noexcept {
  return fail(static_cast<mgr_status_t>(status.code()), status.message().c_str());
}

}  // namespace mgtune

const char* mgr_last_error(void) { return mgtune::last_error().c_str(); }
