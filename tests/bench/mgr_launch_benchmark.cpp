// mgr_launch from the C boundary to the driver's entry, on the stand-in for a GPU: rmsnorm.forward
// with three tensors and two scalars, on cubins that NVRTC made. The bound to keep: 300 ns.

#include <benchmark/benchmark.h>
#include <mgruntime/mgruntime.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <random>
#include <vector>

#include "tests/helpers/fakes/stand_in_gpu.h"
#include "tests/helpers/mgr_plan_options.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

struct PlannedRmsnorm {
  PlannedRmsnorm() {
    mgr_open_options_t open{};
    open.struct_size = sizeof(open);
    open.device = "H200";
    // By a process of its own: NVRTC does not work beside the stand-in.
    const std::string table = folder.file("here.tuned.json"), pack = folder.file("here.mgpack");
    std::ofstream(table) << rmsnorm_table();
    const std::string command = "MGTUNE_CACHE_DIR=" + folder.file("cache") + " " + mgtune_path() +
                                " pack --kernel rmsnorm --gpu H200 --table " + table + " -o " +
                                pack + " 2>&1";
    if (std::system(command.c_str()) != 0) return;
    open.database = pack.c_str();
    const MgrPlanOptions options("rmsnorm.forward", {{"hidden", "1024"}, {"T", "bf16"}},
                                 {{"rows", 1, 65536}});
    ok = mgr_open(&open, &context) == MGR_OK && mgr_plan(context, options.get(), &plan) == MGR_OK &&
         mgr_allocate(context, 1 << 20, &memory) == MGR_OK;
  }
  PlannedRmsnorm(const PlannedRmsnorm&) = delete;
  PlannedRmsnorm& operator=(const PlannedRmsnorm&) = delete;
  ~PlannedRmsnorm() {
    mgr_free(context, memory);
    mgr_plan_free(plan);
    mgr_close(context);
  }

  StandInGpu gpu;
  TestFolder folder;
  mgr_context_t* context = nullptr;
  mgr_plan_t* plan = nullptr;
  void* memory = nullptr;
  bool ok = false;
};

void MgrLaunch(benchmark::State& state) {
  const PlannedRmsnorm planned;
  if (!planned.ok) return state.SkipWithError(mgr_last_error());
  std::vector<std::int64_t> rows(4096);
  std::minstd_rand random(1);
  for (std::int64_t& value : rows) value = 1 + static_cast<std::int64_t>(random() % 65536);
  const std::array<void*, 4> tensors = {planned.memory, planned.memory, planned.memory, nullptr};
  const std::array<double, 2> scalars = {1e-6, 0};
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state) {
    const std::array<std::int64_t, 2> dims = {rows[next++ % rows.size()], -1};
    if (mgr_launch(planned.plan, nullptr, dims.data(), 2, tensors.data(), 4, scalars.data(), 2,
                   nullptr) != MGR_OK) {
      state.SkipWithError(mgr_last_error());
    }
  }
}
BENCHMARK(MgrLaunch);

}  // namespace
}  // namespace mgtune
