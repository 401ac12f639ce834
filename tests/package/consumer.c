/* A pure C program on an installed libmgruntime: plans and launches rmsnorm.forward on the cpu
 * device. Rows of ones with weights of one give ones. */

#include <mgruntime/operators.h>
#include <stdio.h>

enum { kRows = 3, kHidden = 64 };

int main(void) {
  mgr_open_options_t open = {sizeof(open), "cpu", NULL, NULL, 0};
  mgr_context_t* context = NULL;
  const mgr_assignment_t assignments[] = {{"hidden", "64"}, {"T", "f32"}};
  const mgr_range_t ranges[] = {{"rows", 1, kRows}};
  mgr_plan_options_t options = {.struct_size = sizeof(options),
                                .operator_name = "rmsnorm.forward",
                                .assignments = assignments,
                                .assignment_count = 2,
                                .ranges = ranges,
                                .range_count = 1};
  mgr_plan_t* plan = NULL;
  float ones[kRows * kHidden], y[kRows * kHidden];
  void *x = NULL, *weight = NULL, *out = NULL;
  int i, wrong = 0;
  for (i = 0; i < kRows * kHidden; ++i) ones[i] = 1;

  if (mgr_abi_version() < MGR_ABI_VERSION || mgr_open(&open, &context) != MGR_OK ||
      mgr_plan(context, &options, &plan) != MGR_OK ||
      mgr_allocate(context, sizeof(ones), &x) != MGR_OK ||
      mgr_allocate(context, sizeof(ones), &out) != MGR_OK ||
      mgr_allocate(context, kHidden * sizeof(float), &weight) != MGR_OK ||
      mgr_copy_to_device(context, x, ones, sizeof(ones)) != MGR_OK ||
      mgr_copy_to_device(context, weight, ones, kHidden * sizeof(float)) != MGR_OK) {
    fprintf(stderr, "%s\n", mgr_last_error());
    return 1;
  }
  if (mgr_rmsnorm_forward(plan, NULL, kRows, -1, x, weight, out, NULL, 0, 0, NULL) != MGR_OK ||
      mgr_copy_to_host(context, y, out, sizeof(y)) != MGR_OK) {
    fprintf(stderr, "%s\n", mgr_last_error());
    return 1;
  }
  for (i = 0; i < kRows * kHidden; ++i) wrong += !(y[i] > 0.999f && y[i] < 1.001f);
  mgr_free(context, x);
  mgr_free(context, weight);
  mgr_free(context, out);
  mgr_plan_free(plan);
  mgr_close(context);
  printf("C: %d of %d elements wrong\n", wrong, kRows * kHidden);
  return wrong != 0;
}
