// Searches for missing barriers on the cpu device. If the outputs of a variant depend on the order
// in which the threads of a block run, a barrier is missing. If two orders give different results,
// the variant is built once more with the race checker, which names threads and lines.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "launch/loaded_variant.h"

namespace mgtune {

struct NamedOrder {
  std::string_view name;
  ThreadOrder order;
};

// The orders besides forward, with which every check starts.
const std::vector<NamedOrder>& other_thread_orders();

// Its destructor sets the device back to forward.
class ThreadOrderGuard {
 public:
  explicit ThreadOrderGuard(Device& device) : device_(device) {}
  ThreadOrderGuard(const ThreadOrderGuard&) = delete;
  ThreadOrderGuard& operator=(const ThreadOrderGuard&) = delete;
  ~ThreadOrderGuard();

 private:
  Device& device_;
};

// The report of the race checker on one launch of the variant. "" if it reports nothing, or this
// build has no race checker. `arguments` are those of a launch of the variant itself.
Result<std::string> race_report(Device& device, Builder& builder, const Binding& binding,
                                const Variant& variant, const LaunchArguments& arguments);

}  // namespace mgtune
