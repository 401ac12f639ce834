// rmsnorm.forward and rmsnorm.add_forward on a real GPU against the cpu device: variants from all
// over the space (every one in the long lane), on shapes where rows and columns end inside a block,
// give the same output within the operator's tolerance; the reference kernel likewise gives the
// same doubles on both.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "build/build_cache.h"
#include "build/builder.h"
#include "check/checker.h"
#include "check/compare.h"
#include "check/reference.h"
#include "device/registry.h"
#include "family/catalog.h"
#include "launch/loaded_variant.h"
#include "selection/admission.h"
#include "space/space.h"
#include "system/file_system.h"
#include "tensors/problem_tensors.h"
#include "tensors/tensor_layout.h"
#include "tests/helpers/all_variants.h"
#include "tests/helpers/kernels/variants_on_gpu.h"
#include "tests/helpers/long_lane.h"

namespace mgtune {
namespace {

// One device's side of a problem: its inputs, its reference, any variant.
class Side {
 public:
  Side(Device& device, const Problem& problem)
      : device_(device),
        builder_(BuildCache(FileSystem::real(), BuildCache::default_directory())),
        problem_(problem),
        layouts_(tensor_layouts(problem).value()),
        reference_(Reference::make(device, builder_, problem_, layouts_).value()),
        tensors_(ProblemTensors::allocate(device, layouts_, Placement::guarded).value()) {
    const Status filled = reference_.fill(tensors_, 3);
    EXPECT_TRUE(filled.ok()) << filled.message();
  }

  // Fills take logarithms and cosines, whose last bits differ between devices.
  void take_inputs(const Side& other) {
    for (std::size_t i = 0; i < layouts_.size(); ++i) {
      if (layouts_[i].role != Role::out) {
        tensors_.set_content(i, *other.tensors_.content(i).value());
      }
    }
  }

  const std::vector<TensorLayout>& layouts() const { return layouts_; }
  std::vector<std::vector<double>> reference() {
    const std::vector<Buffer> outputs = reference_.compute(tensors_).value();
    std::vector<std::vector<double>> values(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!layouts_[i].present || !layouts_[i].is_output()) continue;
      values[i] = read_doubles(device_, outputs[i], layouts_[i].count).value();
    }
    return values;
  }

  // The outputs' memory, per tensor.
  Result<std::vector<Bytes>> run(const Variant& variant) {
    const Binding binding = problem_.binding();
    MGTUNE_ASSIGN(const Slots slots, compile_slots(binding, variant, device_.info().limits));
    MGTUNE_ASSIGN(const BuildRequest request,
                  variant_build_request(*binding.op, variant, slots, device_.info().arch));
    MGTUNE_ASSIGN(const Build build, builder_.build(request));
    MGTUNE_ASSIGN(const auto loaded, LoadedVariant::load(device_, binding, variant, build));
    MGTUNE_TRY(tensors_.prepare());
    std::vector<std::int64_t> dims;
    for (const Dim& dim : binding.op->dims) {
      if (dim.kind != DimKind::fixed) dims.push_back(problem_.dim(dim.name));
    }
    LaunchArguments arguments;
    arguments.dims = dims;
    arguments.tensors = tensors_.pointers();
    arguments.scalars = reference_.scalars();
    MGTUNE_TRY(loaded->launch(arguments));
    MGTUNE_TRY(device_.synchronize(nullptr));
    MGTUNE_ASSIGN(std::vector<Bytes> outputs, tensors_.read_outputs());
    MGTUNE_ASSIGN(const std::string damage, tensors_.damage(outputs));
    EXPECT_EQ(damage, "") << variant_text(*binding.op, variant);
    return outputs;
  }

 private:
  Device& device_;
  Builder builder_;
  Problem problem_;
  std::vector<TensorLayout> layouts_;
  Reference reference_;
  ProblemTensors tensors_;
};

class RmsnormForwardOnGpu : public RealGpuTest, public testing::WithParamInterface<ProblemOnGpu> {};

TEST_P(RmsnormForwardOnGpu, VariantsAgreeWithTheCpuDevice) {
  Catalog catalog(FileSystem::real());
  const Operator& op = *catalog.find_operator(GetParam().op).value();
  const Problem problem = bind_problem(op, parse_assignments(GetParam().problem).value()).value();
  const auto cpu_device = open_device("cpu");
  ASSERT_TRUE(cpu_device.ok()) << cpu_device.status().message();
  Side cpu(**cpu_device, problem);
  Side gpu(device(), problem);
  gpu.take_inputs(cpu);

  const auto expected = cpu.reference();
  const auto references = gpu.reference();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].size(), references[i].size());
    for (std::size_t at = 0; at < expected[i].size(); ++at) {
      // Only the order of additions and the last bits of sqrt differ.
      ASSERT_NEAR(expected[i][at], references[i][at], 1e-12 * (1 + std::abs(expected[i][at])))
          << op.tensors[i].name << " at " << at;
    }
  }

  // On the cpu device, where compiling one takes 0.3 s, every 12th, and none that needs sm_90 or,
  // as that device is smaller, may not serve the problem there.
  std::vector<Variant> variants = all_variants(Space(problem, device().info().limits));
  ASSERT_FALSE(variants.empty());
  // At most 40 of them, except in the long lane: compiling one takes 60 ms.
  const std::size_t step = in_long_lane<std::size_t>(1, variants.size() / 40 + 1);
  const std::size_t cpu_step = 12 * step;
  std::size_t on_gpu = 0, on_both = 0;
  for (std::size_t v = 0; v < variants.size(); v += step) {
    const std::string text = variant_text(op, variants[v]);
    const auto from_gpu = gpu.run(variants[v]);
    ASSERT_TRUE(from_gpu.ok()) << text << ": " << from_gpu.status().message();
    const bool also_on_cpu = v % cpu_step == 0 && !text.starts_with("cluster") &&
                             !text.starts_with("bulk") && !text.starts_with("stream") &&
                             may_serve(problem, variants[v], (*cpu_device)->info().limits);
    const auto from_cpu = also_on_cpu ? cpu.run(variants[v]) : std::vector<Bytes>(*from_gpu);
    ASSERT_TRUE(from_cpu.ok()) << text << ": " << from_cpu.status().message();
    ++on_gpu;
    on_both += also_on_cpu ? 1 : 0;
    for (std::size_t i = 0; i < gpu.layouts().size(); ++i) {
      const TensorLayout& layout = gpu.layouts()[i];
      if (!layout.is_output() || !layout.present) continue;
      const double tolerance = op.check.tolerance.at(layout.dtype);
      for (const auto* outputs : {&*from_gpu, &*from_cpu}) {
        const OutputComparison comparison = compare_with_reference(
            layout, (*outputs)[i], expected[i], tolerance, op.check.sample_rows);
        EXPECT_EQ(comparison.message, "") << text;
      }
    }
  }
  std::cout << op.full_name() << " " << GetParam().problem << ": " << on_gpu << " of "
            << variants.size() << " variants on " << device().info().name << ", " << on_both
            << " of them on both" << std::endl;
}

constexpr char kForward[] = "rmsnorm.forward", kAdd[] = "rmsnorm.add_forward";

INSTANTIATE_TEST_SUITE_P(
    Problems, RmsnormForwardOnGpu,
    testing::Values(ProblemOnGpu{kForward, "rows=37,hidden=1024,T=bf16,rstd=true"},
                    ProblemOnGpu{kForward, "rows=300,hidden=512,T=f16"},
                    ProblemOnGpu{kForward, "rows=19,hidden=512,x_stride=520,T=f32,rstd=true"},
                    ProblemOnGpu{kForward, "rows=5,hidden=333,T=bf16,W=f32"},
                    ProblemOnGpu{kForward, "rows=3,hidden=20000,T=bf16,rstd=true"},
                    ProblemOnGpu{kForward, "rows=2,hidden=262144,T=f32"},
                    ProblemOnGpu{kForward, "rows=300,hidden=16384,T=bf16,rstd=true"},
                    ProblemOnGpu{kForward, "rows=70,hidden=65536,T=f32"},
                    ProblemOnGpu{kAdd, "rows=300,hidden=1024,T=bf16,rstd=true"},
                    ProblemOnGpu{kAdd, "rows=1100,hidden=4100,T=bf16"},
                    ProblemOnGpu{kAdd, "rows=140,hidden=32768,T=f16"},
                    ProblemOnGpu{kAdd, "rows=3,hidden=20001,T=f16"},
                    ProblemOnGpu{kAdd, "rows=2,hidden=65536,x_stride=65544,T=bf16,W=f32"}));

}  // namespace
}  // namespace mgtune
