// RMSNorm in bf16 with the optional output rstd, through the C++ interface: plans once, launches,
// compares the result with a reference in double precision, and says which variant ran and why.
//
//   rmsnorm_cpp [DEVICE]      "auto" (default), "cpu", "H200", a CUDA index or a UUID

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <mgruntime/mgruntime.hpp>
#include <random>
#include <vector>

#include "rmsnorm_bf16.h"

namespace {

constexpr std::int64_t kRows = 33, kHidden = 1024;

struct Host {
  std::mt19937 random{1};
  Values x = random_values(kRows * kHidden, random), weight = random_values(kHidden, random);
  Values y = Values(x.size());
  std::vector<float> rstd = std::vector<float>(kRows);

  // The largest relative error of y and rstd; infinity for a NaN.
  double largest_error() const {
    double largest = max_error(x, weight, y);
    for (std::size_t row = 0; row < rstd.size(); ++row) {
      largest = std::max(largest, relative_error(rstd[row], expected_rstd(x, row, kHidden)));
    }
    return largest;
  }
};

int run(const mgr::Context& context, const mgr::Plan& plan) {
  Host host;
  const std::size_t bytes = host.x.size() * 2, weight_bytes = host.weight.size() * 2;
  const std::size_t rstd_bytes = host.rstd.size() * sizeof(float);
  auto x = context.allocate(bytes), y = context.allocate(bytes);
  auto weight = context.allocate(weight_bytes), rstd = context.allocate(rstd_bytes);
  for (const auto* buffer : {&x, &y, &weight, &rstd}) {
    if (!*buffer) return fail("allocate", buffer->error());
  }
  // In the operator's order: rows and x_stride (its default); x, weight, y, rstd; eps and the value
  // that is added to every weight.
  for (const mgr::Status& status :
       {context.copy_to_device(x->data(), host.x.data(), bytes),
        context.copy_to_device(weight->data(), host.weight.data(), weight_bytes),
        plan.launch({kRows, -1}, {x->data(), weight->data(), y->data(), rstd->data()}, {kEps, 0}),
        context.synchronize(), context.copy_to_host(host.y.data(), y->data(), bytes),
        context.copy_to_host(host.rstd.data(), rstd->data(), rstd_bytes)}) {
    if (!status) return fail("run", status.error());
  }
  auto why = plan.explain({kRows, -1});
  if (!why) return fail("explain", why.error());
  const double error = host.largest_error();
  std::printf("%smax error %.2g (allowed %.2g)\n", why->c_str(), error, kTolerance);
  return error <= kTolerance ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  mgr::OpenOptions options;
  if (argc > 1) options.device = argv[1];
  auto context = mgr::Context::open(options);
  if (!context) return fail("open", context.error());
  auto plan =
      context->plan("rmsnorm.forward", {{"hidden", "1024"}, {"T", "bf16"}, {"rstd", "true"}},
                    {{"rows", 1, 8192}});
  if (!plan) return fail("plan", plan.error());
  return run(*context, *plan);
}
