#include "check/thread_orders.h"

#include <memory>
#include <utility>

#include "family/variant.h"

namespace mgtune {

const std::vector<NamedOrder>& other_thread_orders() {
  static const std::vector<NamedOrder> kOrders{
      {"reversed", {ThreadOrder::Kind::reversed, 0}},
      {"shuffled (seed 1)", {ThreadOrder::Kind::shuffled, 1}},
      {"shuffled (seed 2)", {ThreadOrder::Kind::shuffled, 2}},
  };
  return kOrders;
}

ThreadOrderGuard::~ThreadOrderGuard() {
  // A device that accepted one order accepts forward too, so there is nothing to report here.
  static_cast<void>(device_.set_thread_order({}));
}

Result<std::string> race_report(Device& device, Builder& builder, const Binding& binding,
                                const Variant& variant, const LaunchArguments& arguments) {
  MGTUNE_ASSIGN(const Slots slots, compile_slots(binding, variant, device.info().limits));
  MGTUNE_ASSIGN(const BuildRequest request,
                variant_build_request(*binding.op, variant, slots, "cpu-race"));
  Result<Build> build = builder.build(request);
  if (build.status().code() == StatusCode::unsupported) return std::string();
  if (!build.ok()) return std::move(build).take_status();
  Result<std::unique_ptr<LoadedVariant>> loaded =
      LoadedVariant::load(device, binding, variant, *build);
  if (loaded.status().code() == StatusCode::unsupported) return std::string();
  if (!loaded.ok()) return std::move(loaded).take_status();
  return (*loaded)->launch(arguments).message();
}

}  // namespace mgtune
