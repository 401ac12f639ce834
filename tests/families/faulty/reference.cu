// References of the faulty operators: each computes what its operator would compute without the
// fault.

template <typename T>
__device__ void copy_reference(const T* x, double* y, long long n) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += threads) {
    y[i] = static_cast<double>(x[i]);
  }
}

template <typename T, class Problem>
__global__ void missing_barrier_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i % 64 == 0 ? i : i - 1]);
  }
}

template <typename T, class Problem>
__global__ void divergent_shuffle_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i % 32 < 16 ? (i ^ 1) : i]);
  }
}

template <typename T, class Problem>
__global__ void out_of_bounds_reference(const T* x, double* y, Problem problem) {
  copy_reference(x, y, problem.n);
}

template <typename T, class Problem>
__global__ void endless_loop_reference(const T* x, double* y, Problem problem) {
  copy_reference(x, y, problem.n);
}
