// culprits.scale's reference: y = 2 * x in fp64.

template <typename T, class Problem>
__global__ void scale_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = 2 * static_cast<double>(x[i]);
  }
}
