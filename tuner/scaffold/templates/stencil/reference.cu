// What blur must compute, in double precision. It runs once per problem and need not be fast.

#include <mg/vec.cuh>  // mg::to_float

// An element of x; 0 beyond the edges.
template <typename T, class Problem>
__device__ double element(const T* x, long long row, long long column, const Problem& problem) {
  if (row < 0 || row >= problem.height || column < 0 || column >= problem.width) return 0;
  return static_cast<double>(mg::to_float(x[row * problem.width + column]));
}

// The key "reference" names this kernel. It is a template over the dtypes of the operator file and
// then over Problem. Inputs have the type T; outputs are always double. Problem has a member for
// each dim and each scalar.
template <typename T, class Problem>
__global__ void blur_reference(const T* x, double* y, Problem problem) {
  // mgtune launches it with as many blocks of 128 threads as fill the GPU, whatever the dims are.
  // So each thread has a loop.
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const double center = problem.center, side = (1 - center) / 4;
  for (long long i = first; i < problem.height * problem.width; i += threads) {
    const long long r = i / problem.width, c = i % problem.width;
    const double around = element(x, r - 1, c, problem) + element(x, r + 1, c, problem) +
                          element(x, r, c - 1, problem) + element(x, r, c + 1, problem);
    y[i] = center * element(x, r, c, problem) + side * around;
  }
}
