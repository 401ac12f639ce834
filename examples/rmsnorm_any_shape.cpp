// RMSNorm at random row counts and hidden sizes that nobody tuned. Plans each hidden size once for
// a range of rows, launches several row counts with each plan, and compares every element with a
// reference in double precision.
//
//   rmsnorm_any_shape [DEVICE [SHAPES [SEED]]]      "auto", 12 hidden sizes, seed 1

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mgruntime/mgruntime.hpp>
#include <random>
#include <string>
#include <vector>

#include "bf16.h"

namespace {

constexpr std::int64_t kMostRows = 64, kMostHidden = 3000;
constexpr int kRowCounts = 4;  // for each hidden size
constexpr double kEps = 1e-5;
constexpr double kTolerance = 1.0 / 128;  // relative, per element: bf16 keeps 8 bits

int fail(const std::string& what, const mgr::Error& error) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), error.message.c_str());
  return 1;
}

struct Matrix {
  std::int64_t rows, hidden;
  std::vector<std::uint16_t> x, weight, y;

  Matrix(std::int64_t row_count, std::int64_t hidden_size, std::mt19937& random)
      : rows(row_count), hidden(hidden_size) {
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < rows * hidden; ++i) x.push_back(to_bf16(normal(random)));
    for (std::int64_t i = 0; i < hidden; ++i) weight.push_back(to_bf16(normal(random)));
    y.resize(x.size());
  }

  // The largest relative error; infinity for a NaN.
  double max_error() const {
    double largest = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto first = static_cast<std::size_t>(row * hidden);
      const auto count = static_cast<std::size_t>(hidden);
      double sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double value = from_bf16(x[first + i]);
        sum += value * value;
      }
      const double scale = 1 / std::sqrt(sum / static_cast<double>(hidden) + kEps);
      for (std::size_t i = 0; i < count; ++i) {
        const double expected = from_bf16(x[first + i]) * scale * from_bf16(weight[i]);
        const double error =
            std::abs(from_bf16(y[first + i]) - expected) / std::max(std::abs(expected), 1e-3);
        largest = error <= largest ? largest : std::isnan(error) ? INFINITY : error;
      }
    }
    return largest;
  }
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
  return matrix.max_error();
}

bool serve(const mgr::Context& context, std::int64_t hidden, std::mt19937& random) {
  const std::string hidden_text = std::to_string(hidden);
  auto plan = context.plan("rmsnorm.forward", {{"hidden", hidden_text.c_str()}, {"T", "bf16"}},
                           {{"rows", 1, kMostRows}});
  if (!plan) return fail("plan", plan.error()) == 0;
  std::uniform_int_distribution<std::int64_t> any_rows(1, kMostRows);
  for (int i = 0; i < kRowCounts; ++i) {
    Matrix matrix(any_rows(random), hidden, random);
    const double error = launch(context, *plan, matrix);
    const bool right = error >= 0 && error <= kTolerance;
    std::printf("rows=%lld hidden=%lld: max error %.2g%s\n", static_cast<long long>(matrix.rows),
                static_cast<long long>(hidden), error, right ? "" : ": WRONG");
    if (!right) return false;
  }
  auto why = plan->explain({kMostRows, -1});
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
  std::uniform_real_distribution<double> logarithm(0, std::log(kMostHidden));
  for (int i = 0; i < shapes; ++i) {
    const auto hidden = static_cast<std::int64_t>(std::exp(logarithm(random)));
    if (!serve(*context, hidden, random)) return 1;
  }
  std::printf("%d hidden sizes, %d launches: all right\n", shapes, shapes * kRowCounts);
  return 0;
}
