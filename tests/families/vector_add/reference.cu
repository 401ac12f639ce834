// vector_add.add's reference: z = x + y in fp64.

template <typename T, class Problem>
__global__ void vector_add_reference(const T* x, const T* y, double* z, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    z[i] = static_cast<double>(x[i]) + static_cast<double>(y[i]);
  }
}
