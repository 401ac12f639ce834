// A C++17 program on an installed libmgruntime; see consumer.c.

#include <cstdio>
#include <mgruntime/mgruntime.hpp>
#include <vector>

namespace {

constexpr std::int64_t kRows = 3, kHidden = 64;

int fail(const mgr::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main() {
  mgr::OpenOptions options;
  options.device = "cpu";
  auto context = mgr::Context::open(options);
  if (!context) return fail(context.error());
  auto plan =
      context->plan("rmsnorm.forward", {{"hidden", "64"}, {"T", "f32"}}, {{"rows", 1, kRows}});
  if (!plan) return fail(plan.error());

  std::vector<float> ones(kRows * kHidden, 1.0F), y(ones.size());
  const std::size_t bytes = ones.size() * sizeof(float);
  auto x = context->allocate(bytes), weight = context->allocate(bytes);
  auto out = context->allocate(bytes);
  if (!x || !weight || !out) return fail({MGR_LAUNCH_FAILED, "allocate"});
  for (const auto& status :
       {context->copy_to_device(x->data(), ones.data(), bytes),
        context->copy_to_device(weight->data(), ones.data(), bytes),
        plan->launch({kRows, -1}, {x->data(), weight->data(), out->data(), nullptr}, {0.0, 0.0}),
        context->copy_to_host(y.data(), out->data(), bytes)}) {
    if (!status) return fail(status.error());
  }
  int wrong = 0;
  for (const float value : y) wrong += value > 0.999F && value < 1.001F ? 0 : 1;
  std::printf("C++: %d of %zu elements wrong\n", wrong, y.size());
  return wrong != 0 ? 1 : 0;
}
