// What sum must compute, in double precision. It runs once per problem and need not be fast.

#include <mg/vec.cuh>  // mg::to_float

// The key "reference" names this kernel. It is a template over the dtypes of the operator file and
// then over Problem. Inputs have the type T; outputs are always double. Problem has a member for
// each dim and each scalar.
template <typename T, class Problem>
__global__ void sum_reference(const T* x, double* y, Problem problem) {
  // mgtune launches it with as many blocks of 128 threads as fill the GPU, whatever the dims are.
  // So each thread has a loop.
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long r = first; r < problem.rows; r += threads) {
    double total = 0;
    for (long long c = 0; c < problem.columns; ++c)
      total += mg::to_float(x[r * problem.columns + c]);
    y[r] = total;
  }
}
