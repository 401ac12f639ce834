// References of the planted operators: each computes what its operator would compute without the
// fault.

template <typename T, class Problem>
__global__ void missing_barrier_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i ^ 32]);
  }
}

template <typename T, class Problem>
__global__ void reads_past_end_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i]);
  }
}

template <typename T, class Problem>
__global__ void writes_past_end_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i]);
  }
}

template <typename T, class Problem>
__global__ void leaves_shared_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i]);
  }
}

template <typename T, class Problem>
__global__ void wrong_index_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i]);
  }
}

template <typename T, class Problem>
__global__ void unwritten_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i] + (i % 64 == 0 ? T(0) : x[i - 1]));
  }
}

template <typename T, class Problem>
__global__ void unwritten_local_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i]);
  }
}

template <typename T, class Problem>
__global__ void never_ends_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i]);
  }
}

template <typename T, class Problem>
__global__ void misspelt_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i]);
  }
}

template <typename T, class Problem>
__global__ void no_reference_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i]);
  }
}

template <typename T, class Problem>
__global__ void writes_nan_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i]);
  }
}

template <typename T, class Problem>
__global__ void swapped_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i]);
  }
}

template <typename T, class Problem>
__global__ void wide_argument_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i]);
  }
}

template <typename T, class Problem>
__global__ void sound_reference(const T* x, double* y, Problem problem) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = static_cast<double>(x[i]);
  }
}
