// What add must compute, in double precision. It runs once per problem and need not be fast.

#include <mg/vec.cuh>  // mg::to_float

// The key "reference" names this kernel. It is a template over the dtypes of the operator file and
// then over Problem. Inputs have the type T; outputs are always double. Problem has a member for
// each dim and each scalar.
template <typename T, class Problem>
__global__ void add_reference(const T* x, const T* y, double* z, Problem problem) {
  // mgtune launches it with as many blocks of 128 threads as fill the GPU, whatever n is. So each
  // thread has a loop.
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long i = first; i < problem.n; i += threads) {
    z[i] = static_cast<double>(mg::to_float(x[i])) + static_cast<double>(mg::to_float(y[i]));
  }
}
