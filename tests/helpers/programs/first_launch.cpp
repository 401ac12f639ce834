// From the start of a process to its first launch through libmgruntime: SOURCE is a pack or a
// table. Prints when the launch had ended, whether it was right, whether NVRTC was loaded, and how
// long each step took.

#include "tests/helpers/programs/first_launch.h"

#include <link.h>
#include <mgruntime/operators.h>

#include <array>
#include <string_view>

#include "tests/helpers/mgr_plan_options.h"

namespace {

using mgtune::FirstLaunch;

bool nvrtc_is_loaded() {
  bool found = false;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        if (std::string_view(info->dlpi_name).find("libnvrtc") == std::string_view::npos) return 0;
        *static_cast<bool*>(result) = true;
        return 1;
      },
      &found);
  return found;
}

void expect(mgr_status_t status) {
  if (status == MGR_OK) return;
  std::fprintf(stderr, "%s\n", mgr_last_error());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  FirstLaunch problem;
  std::array<std::int64_t, 5> steps{FirstLaunch::now_ns()};
  mgr_open_options_t open{};
  open.struct_size = sizeof(open);
  open.device = "0";
  open.database = argv[1];
  mgr_context_t* context = nullptr;
  expect(mgr_open(&open, &context));
  steps[1] = FirstLaunch::now_ns();

  const mgtune::MgrPlanOptions options("rmsnorm.forward", {{"hidden", "1024"}, {"T", "bf16"}},
                                       {{"rows", 1, FirstLaunch::kRows}});
  mgr_plan_t* plan = nullptr;
  expect(mgr_plan(context, options.get(), &plan));
  steps[2] = FirstLaunch::now_ns();

  void *x = nullptr, *weight = nullptr, *y = nullptr;
  for (void** memory : {&x, &weight, &y}) {
    expect(mgr_allocate(context, FirstLaunch::kBytes, memory));
  }
  for (void* memory : {x, weight}) {
    expect(mgr_copy_to_device(context, memory, problem.ones.data(), FirstLaunch::kBytes));
  }
  steps[3] = FirstLaunch::now_ns();
  expect(mgr_rmsnorm_forward(plan, nullptr, FirstLaunch::kRows, -1, x, weight, y, nullptr, 0, 0,
                             nullptr));
  expect(mgr_synchronize(context, nullptr));
  steps[4] = FirstLaunch::now_ns();

  expect(mgr_copy_to_host(context, problem.y.data(), y, FirstLaunch::kBytes));
  const int code = problem.report(steps[4]);
  std::printf("nvrtc %s\n", nvrtc_is_loaded() ? "loaded" : "absent");
  const char* const names[] = {"open", "plan", "copy", "launch"};
  for (std::size_t i = 0; i < 4; ++i) {
    std::printf("%s %.3f ms\n", names[i], static_cast<double>(steps[i + 1] - steps[i]) / 1e6);
  }
  for (void* memory : {x, weight, y}) mgr_free(context, memory);
  mgr_plan_free(plan);
  mgr_close(context);
  return code;
}
