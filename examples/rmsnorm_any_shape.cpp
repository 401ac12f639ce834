// RMSNorm at random row counts and hidden sizes that nobody tuned. Plans each hidden size once for
// a range of rows, launches several row counts with each plan, and compares every element with a
// reference in double precision.
//
//   rmsnorm_any_shape [DEVICE [SHAPES [SEED]]]      "auto", 12 hidden sizes, seed 1

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mgruntime/mgruntime.hpp>
#include <random>
#include <string>

#include "rmsnorm_bf16.h"

namespace {

constexpr std::int64_t kMaxRows = 64, kMaxHidden = 3000;
constexpr int kRowCounts = 4;  // for each hidden size

struct Matrix {
  std::int64_t rows;
  Values x, weight, y;

  Matrix(std::int64_t row_count, std::int64_t hidden, std::mt19937& random)
      : rows(row_count),
        x(random_values(rows * hidden, random)),
        weight(random_values(hidden, random)),
        y(x.size()) {}
};

// The error of one launch. Negative after a message was printed.
double launch(const mgr::Context& context, const mgr::Plan& plan, Matrix& matrix) {
  const std::size_t bytes = matrix.x.size() * 2, weight_bytes = matrix.weight.size() * 2;
  auto x = context.allocate(bytes), y = context.allocate(bytes);
  auto weight = context.allocate(weight_bytes);
  for (const auto* buffer : {&x, &y, &weight}) {
    if (!*buffer) return -fail("allocate", buffer->error());
  }
  for (const mgr::Status& status :
       {context.copy_to_device(x->data(), matrix.x.data(), bytes),
        context.copy_to_device(weight->data(), matrix.weight.data(), weight_bytes),
        plan.launch({matrix.rows, -1}, {x->data(), weight->data(), y->data(), nullptr}, {kEps, 0}),
        context.synchronize(), context.copy_to_host(matrix.y.data(), y->data(), bytes)}) {
    if (!status) return -fail("run", status.error());
  }
  return max_error(matrix.x, matrix.weight, matrix.y);
}

bool serve(const mgr::Context& context, std::int64_t hidden, std::mt19937& random) {
  const std::string hidden_text = std::to_string(hidden);
  auto plan = context.plan("rmsnorm.forward", {{"hidden", hidden_text.c_str()}, {"T", "bf16"}},
                           {{"rows", 1, kMaxRows}});
  if (!plan) return fail("plan", plan.error()) == 0;
  std::uniform_int_distribution<std::int64_t> any_rows(1, kMaxRows);
  for (int i = 0; i < kRowCounts; ++i) {
    Matrix matrix(any_rows(random), hidden, random);
    const double error = launch(context, *plan, matrix);
    const bool right = error >= 0 && error <= kTolerance;
    std::printf("rows=%lld hidden=%lld: max error %.2g%s\n", static_cast<long long>(matrix.rows),
                static_cast<long long>(hidden), error, right ? "" : ": WRONG");
    if (!right) return false;
  }
  auto why = plan->explain({kMaxRows, -1});
  if (!why) return fail("explain", why.error()) == 0;
  std::printf("%s\n", why->c_str());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  mgr::OpenOptions options;
  if (argc > 1) options.device = argv[1];
  const int shapes = argc > 2 ? std::atoi(argv[2]) : 12;
  std::mt19937 random(argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 1U);
  auto context = mgr::Context::open(options);
  if (!context) return fail("open", context.error());
  // As many below 100 as above 1000, odd ones among them.
  std::uniform_real_distribution<double> logarithm(0, std::log(kMaxHidden));
  for (int i = 0; i < shapes; ++i) {
    const auto hidden = static_cast<std::int64_t>(std::exp(logarithm(random)));
    if (!serve(*context, hidden, random)) return 1;
  }
  std::printf("%d hidden sizes, %d launches: all right\n", shapes, shapes * kRowCounts);
  return 0;
}
