// The search for missing barriers, on the cpu device: a variant whose outputs depend on the order
// in which the threads of a block run misses one. Where two orders differ, the variant is built
// once more with the race checker compiled in, which names threads and lines.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"
#include "launch/loaded_variant.h"
#include "family/problem.h"

namespace mgtune {

struct NamedOrder {
  std::string_view name;
  ThreadOrder order;
};

// Besides forward, which every check starts with.
const std::vector<NamedOrder>& other_thread_orders();

// Puts the device back to forward when it goes.
class ThreadOrderGuard {
 public:
  explicit ThreadOrderGuard(Device& device) : device_(device) {}
  ThreadOrderGuard(const ThreadOrderGuard&) = delete;
  ThreadOrderGuard& operator=(const ThreadOrderGuard&) = delete;
  ~ThreadOrderGuard();

 private:
  Device& device_;
};

// What the race checker says of one launch of the variant; "" when it says nothing or this build
// has no race checker. `arguments` are of a launch of the variant itself.
Result<std::string> race_report(Device& device, Builder& builder, const Binding& binding,
                                const Variant& variant, const LaunchArguments& arguments);

}  // namespace mgtune
