/* RMSNorm in fp32 through the C interface: opens a device, plans rmsnorm.forward once, launches it
 * with two row counts, compares the results with a reference in double precision, and says which
 * variant ran.
 *
 *   rmsnorm_c [DEVICE]      "auto" (default), "cpu", "H200", a CUDA index or a UUID
 */

#include <math.h>
#include <mgruntime/mgruntime.h>
#include <stdio.h>
#include <stdlib.h>

enum { kHidden = 1024, kMaxRows = 64 };
static const double kEps = 1e-5;
static const double kTolerance = 1e-5; /* relative, per element; fp32 sums in another order */

static int failed(const char* what, mgr_status_t status) {
  if (status == MGR_OK) return 0;
  fprintf(stderr, "%s: %s\n", what, mgr_last_error());
  return 1;
}

/* The largest relative error of y against the reference. */
static double max_error(const float* x, const float* weight, const float* y, int rows) {
  double largest = 0;
  for (int row = 0; row < rows; ++row, x += kHidden, y += kHidden) {
    double sum = 0;
    for (int i = 0; i < kHidden; ++i) sum += (double)x[i] * x[i];
    const double rstd = 1 / sqrt(sum / kHidden + kEps);
    for (int i = 0; i < kHidden; ++i) {
      const double expected = x[i] * rstd * weight[i];
      const double error = fabs(y[i] - expected) / fmax(fabs(expected), 1e-3);
      if (!(error <= largest)) largest = error; /* NaN counts */
    }
  }
  return largest;
}

static int run(const mgr_plan_t* plan, mgr_context_t* context, int rows) {
  const size_t x_bytes = sizeof(float) * kHidden * (size_t)rows;
  const size_t weight_bytes = sizeof(float) * kHidden;
  float* x = malloc(x_bytes);
  float* y = malloc(x_bytes);
  float* weight = malloc(weight_bytes);
  void *device_x = NULL, *device_weight = NULL, *device_y = NULL;
  int bad = x == NULL || y == NULL || weight == NULL;
  for (int i = 0; !bad && i < kHidden * rows; ++i) x[i] = (float)rand() / (float)RAND_MAX - 0.5F;
  for (int i = 0; !bad && i < kHidden; ++i) weight[i] = (float)rand() / (float)RAND_MAX + 0.5F;

  bad = bad || failed("allocate", mgr_allocate(context, x_bytes, &device_x)) ||
        failed("allocate", mgr_allocate(context, weight_bytes, &device_weight)) ||
        failed("allocate", mgr_allocate(context, x_bytes, &device_y)) ||
        failed("copy", mgr_copy_to_device(context, device_x, x, x_bytes)) ||
        failed("copy", mgr_copy_to_device(context, device_weight, weight, weight_bytes));
  if (!bad) {
    /* In the operator's order: rows and x_stride (its default); x, weight, y and no rstd; eps
       and the value that is added to every weight. */
    const int64_t dims[] = {rows, -1};
    void* const tensors[] = {device_x, device_weight, device_y, NULL};
    const double scalars[] = {kEps, 0};
    char text[4096];
    bad = failed("launch", mgr_launch(plan, NULL, dims, 2, tensors, 4, scalars, 2, NULL)) ||
          failed("synchronize", mgr_synchronize(context, NULL)) ||
          failed("copy", mgr_copy_to_host(context, y, device_y, x_bytes)) ||
          failed("explain", mgr_explain(plan, dims, 2, text, sizeof(text), NULL));
    if (!bad) {
      const double error = max_error(x, weight, y, rows);
      printf("%smax error %.2g (allowed %.2g)\n\n", text, error, kTolerance);
      bad = !(error <= kTolerance);
    }
  }
  mgr_free(context, device_x);
  mgr_free(context, device_weight);
  mgr_free(context, device_y);
  free(x);
  free(y);
  free(weight);
  return bad;
}

int main(int argc, char** argv) {
  mgr_open_options_t open = {0};
  open.struct_size = sizeof(open);
  open.device = argc > 1 ? argv[1] : "auto";
  mgr_context_t* context = NULL;
  if (failed("open", mgr_open(&open, &context))) return 1;

  const mgr_assignment_t assignments[] = {{"hidden", "1024"}, {"T", "f32"}};
  const mgr_range_t ranges[] = {{"rows", 1, kMaxRows}};
  mgr_plan_options_t options = {0};
  options.struct_size = sizeof(options);
  options.operator_name = "rmsnorm.forward";
  options.assignments = assignments;
  options.assignment_count = 2;
  options.ranges = ranges;
  options.range_count = 1;
  mgr_plan_t* plan = NULL;
  int bad = failed("plan", mgr_plan(context, &options, &plan));
  bad = bad || run(plan, context, 7) || run(plan, context, kMaxRows);
  mgr_plan_free(plan);
  mgr_close(context);
  return bad;
}
