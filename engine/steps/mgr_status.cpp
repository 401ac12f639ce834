#include "steps/mgr_status.h"

namespace mgtune::engine {

Status from_mgr(mgr_status_t status) {
  switch (status) {
    case MGR_OK:
      return {};
    case MGR_INVALID_ARGUMENT:
      return {StatusCode::invalid_argument, mgr_last_error()};
    case MGR_NOT_FOUND:
      return {StatusCode::not_found, mgr_last_error()};
    case MGR_ENVIRONMENT:
    case MGR_OUT_OF_MEMORY:
    case MGR_FORKED:
      return {StatusCode::environment, mgr_last_error()};
    case MGR_CORRUPT:
      return {StatusCode::corrupt, mgr_last_error()};
    case MGR_INCOMPATIBLE:
      return {StatusCode::incompatible, mgr_last_error()};
    case MGR_IO:
      return {StatusCode::io, mgr_last_error()};
    case MGR_COMPILE_FAILED:
      return {StatusCode::compile_failed, mgr_last_error()};
    case MGR_LAUNCH_FAILED:
      return {StatusCode::launch_failed, mgr_last_error()};
    case MGR_TIMEOUT:
      return {StatusCode::timeout, mgr_last_error()};
    case MGR_DEVICE_LOST:
      return {StatusCode::device_lost, mgr_last_error()};
    case MGR_UNSUPPORTED:
      return {StatusCode::unsupported, mgr_last_error()};
    case MGR_INTERNAL:
      break;
  }
  return {StatusCode::internal, mgr_last_error()};
}

}  // namespace mgtune::engine
