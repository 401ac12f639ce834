// Tensors in constant memory: what a launch enqueues, and what the driver is asked.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/shared_modules.h"
#include "launch/loaded_variant.h"
#include "tests/helpers/fakes/fake_cuda.h"
#include "tests/helpers/fakes/fake_device.h"
#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

constexpr char kFiltered[] = R"json({
  "format": 1,
  "dims": {"n": "dynamic", "taps": "dynamic"},
  "tensors": {
    "y": {"role": "out", "dtype": "f32", "shape": ["n"]},
    "x": {"role": "in", "dtype": "f32", "shape": ["n"], "fill": "normal"},
    "filter": {"role": "in", "dtype": "f32", "shape": ["taps"], "fill": "normal", "optional": true}
  },
  "cost": {"bytes": "8 * n", "flops": "n"},
  "check": {"reference": "filtered_reference", "measure": "relative_l2", "tolerance": {"f32": 0}},
  "designs": {"flat": {
    "source": "filtered.cu",
    "params": {},
    "constants": {"filter": "d_filter"},
    "launches": [{"kernel": "filtered", "grid": [1], "block": [32], "args": ["y", "x", "taps:i32"]}],
    "defaults": [{}]}}
})json";

class ConstantMemoryTest : public testing::Test {
 protected:
  ConstantMemoryTest() {
    device_.parameters["filtered"] = {8, 8, 4};
    device_.variables["d_filter"] = {variable_.data(), sizeof(variable_)};
    device_.on_launch = [this](const KernelLaunch&) {
      seen_by_kernel_ = variable_[1];
      return Status();
    };
  }

  Build build() const {
    const Slots slots = compile_slots(binding(true), variant_, device_.info().limits).value();
    return fake_builder()
        .build(variant_build_request(op_, variant_, slots, "sm_90").value())
        .value();
  }
  Binding binding(bool with_filter) const {
    return bind_static(op_, {{"filter", with_filter ? "true" : "false"}}).value();
  }
  std::unique_ptr<LoadedVariant> load(bool with_filter = true) {
    return LoadedVariant::load(device_, binding(with_filter), variant_, build()).value();
  }

  // The tensors are y, x and the filter.
  Status launch(const LoadedVariant& variant, std::int64_t taps, bool with_filter = true) {
    const std::array<std::int64_t, 2> dims = {4, taps};
    const std::array<void*, 3> tensors = {y_.data(), x_.data(),
                                          with_filter ? filter_.data() : nullptr};
    return variant.launch({dims, tensors, {}, nullptr, nullptr});
  }

  const Operator op_ = *decode_text("own.filtered", kFiltered);
  const Variant variant_{0, {}};
  FakeDevice device_;
  std::array<float, 4> variable_{}, y_{}, x_{}, filter_{1, 2, 3, 4};
  float seen_by_kernel_ = 0;
};

TEST_F(ConstantMemoryTest, IsFilledBeforeTheKernelRuns) {
  const auto variant = load();
  ASSERT_TRUE(launch(*variant, 2).ok());
  EXPECT_EQ(seen_by_kernel_, 2);
  EXPECT_EQ(variable_, (std::array<float, 4>{1, 2, 0, 0}));
  filter_[1] = 20;
  ASSERT_TRUE(launch(*variant, 2).ok());
  EXPECT_EQ(seen_by_kernel_, 20);
}

TEST_F(ConstantMemoryTest, ATensorThatDoesNotFitIsRefused) {
  const auto variant = load();
  const Status status = launch(*variant, 5);
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_EQ(status.message(),
            "flat: tensor 'filter' does not fit into the constant d_filter: it has 20 bytes, and "
            "the variable has 16");
  EXPECT_EQ(device_.launches, 0);
  EXPECT_FALSE(launch(*variant, std::int64_t{1} << 62).ok());
}

TEST_F(ConstantMemoryTest, AnAbsentOrEmptyTensorIsNotCopied) {
  EXPECT_TRUE(launch(*load(), 0).ok());
  EXPECT_TRUE(launch(*load(false), 3, false).ok());
  EXPECT_EQ(variable_, (std::array<float, 4>{}));
  EXPECT_EQ(device_.launches, 2);
}

TEST_F(ConstantMemoryTest, PlansDoNotShareIt) {
  SharedModules modules(device_);
  const Build built = build();
  const auto one = LoadedVariant::load(modules, binding(true), variant_, built).value();
  const auto other = LoadedVariant::load(modules, binding(true), variant_, built).value();
  EXPECT_EQ(device_.modules_alive, 2);
}

TEST_F(ConstantMemoryTest, AMissingVariableIsNamed) {
  device_.variables.clear();
  const Status status = LoadedVariant::load(device_, binding(true), variant_, build()).status();
  EXPECT_EQ(status.message(), "the build has no variable d_filter");
}

// What the driver was asked for.
struct DriverCalls {
  std::string variable;
  CUdeviceptr to = 0, from = 0;
  std::size_t bytes = 0;
  CUstream stream = nullptr;
};
DriverCalls& driver_calls() {
  static DriverCalls calls;
  return calls;
}

TEST(CudaConstantMemoryTest, TheDriverFindsTheVariableAndCopiesOnTheStream) {
  FakeCuda cuda;
  FakeLoader loader;
  FakeLoader::Symbols& symbols = loader.libraries["libcuda.so.1"] = cuda.symbols();
  const auto put = [&](const char* symbol, auto* function) {
    symbols[symbol] = as_symbol(function);
  };
  put(
      "cuThreadExchangeStreamCaptureMode", +[](CUstreamCaptureMode*) { return CUDA_SUCCESS; });
  put(
      "cuLibraryLoadData", +[](CUlibrary* library, const void*, CUjit_option*, void**, unsigned,
                               CUlibraryOption*, void**, unsigned) {
        return *library = reinterpret_cast<CUlibrary>(0x3000), CUDA_SUCCESS;
      });
  put(
      "cuLibraryUnload", +[](CUlibrary) { return CUDA_SUCCESS; });
  put(
      "cuLibraryGetGlobal",
      +[](CUdeviceptr* memory, std::size_t* bytes, CUlibrary, const char* name) {
        driver_calls().variable = name;
        if (std::string(name) != "_ZN3own6filterE") return CUDA_ERROR_NOT_FOUND;
        return *memory = 0x4000, *bytes = 36, CUDA_SUCCESS;
      });
  put(
      "cuMemcpyAsync", +[](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
        driver_calls() = {driver_calls().variable, to, from, bytes, stream};
        return CUDA_SUCCESS;
      });
  const CudaDriver driver = open_cuda_driver(loader).value();
  const std::unique_ptr<Device> device = open_cuda_device(driver, 0).value();

  Build build;
  build.variables = {{"own::filter", "_ZN3own6filterE"}};
  const auto module = device->load(build).value();
  const DeviceVariable variable = module->variable("own::filter").value();
  EXPECT_EQ(variable.bytes, 36U);
  EXPECT_EQ(module->variable("own::other").status().code(), StatusCode::not_found);

  auto* const from = reinterpret_cast<void*>(0x5000);
  auto* const stream = reinterpret_cast<Stream>(0x6000);
  ASSERT_TRUE(device->copy_on_device(variable.memory, from, 36, stream).ok());
  EXPECT_EQ(driver_calls().to, 0x4000U);
  EXPECT_EQ(driver_calls().from, 0x5000U);
  EXPECT_EQ(driver_calls().bytes, 36U);
  EXPECT_EQ(driver_calls().stream, reinterpret_cast<CUstream>(0x6000));

  build.variables = {{"own::lost", "_ZN3own4lostE"}};
  const Status status = device->load(build).status();
  EXPECT_THAT(status.message(), HasSubstr("own::lost: finding the variable: "));
}

}  // namespace
}  // namespace mgtune
