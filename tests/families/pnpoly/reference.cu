// The arithmetic is in float, as in the kernel: a point at an edge is decided by its rounding.
template <class Problem>
__global__ void pnpoly_reference(double* bitmap, const float* points, const float* polygon,
                                 Problem problem) {
  const long long threads = (long long)gridDim.x * blockDim.x;
  for (long long p = blockIdx.x * blockDim.x + threadIdx.x; p < problem.count; p += threads) {
    const float x = points[2 * p], y = points[2 * p + 1];
    bool inside = false;
    for (long long i = 0; i < problem.vertices; ++i) {
      const long long before = i == 0 ? problem.vertices - 1 : i - 1;
      const float ax = polygon[2 * i], ay = polygon[2 * i + 1];
      const float bx = polygon[2 * before], by = polygon[2 * before + 1];
      if ((ay > y) == (by > y)) continue;
      if (x < (ax - bx) / (ay - by) * (y - by) + bx) inside = !inside;
    }
    bitmap[p] = inside;
  }
}
