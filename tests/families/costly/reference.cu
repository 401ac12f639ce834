// costly.spread's reference, in fp64.

template <class Problem>
__global__ void spread_reference(const float* x, double* y, Problem problem) {
  const long long n = problem.n;
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += threads) {
    double sum = 0;
    for (int k = 0; k < 160; ++k) sum += x[(i + 37 * k) % n];
    double spread = 0;
    for (int k = 0; k < 160; ++k) {
      const double off = x[(i + 37 * k) % n] - sum / 160;
      spread += off * off;
    }
    y[i] = spread;
  }
}
