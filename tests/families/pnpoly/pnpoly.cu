// Whether points lie in a polygon: an odd number of its edges is to the right of the point. Written
// as outside of mgtune: macros, the polygon in constant memory, and two kernels of one name.

__constant__ float2 d_vertices[VERTICES];

__device__ inline bool plain(float a, float b, float y) { return (a > y) != (b > y); }
__device__ inline bool exclusive_or(float a, float b, float y) { return (a > y) ^ (b > y); }

// How far to the right of the point the edge is at the point's height. SLOPE_SCALE is a power of
// two, which cancels exactly.
__device__ inline bool is_left_of(float2 a, float2 b, float2 point) {
  const float slope = SLOPE_SCALE * (a.x - b.x) / (a.y - b.y);
  return point.x < slope * (point.y - b.y) / SLOPE_SCALE + b.x;
}

__device__ inline int is_inside(float2 point) {
  int inside = 0;
  int before = VERTICES - 1;
  for (int i = 0; i < VERTICES; before = i++) {
    const float2 a = d_vertices[i], b = d_vertices[before];
    if (BETWEEN(a.y, b.y, point.y) && is_left_of(a, b, point)) inside = !inside;
  }
  return inside;
}

__global__ void cn_pnpoly(int* bitmap, const float2* points, int count) {
  for (int t = 0; t < tile_size; ++t) {
    const int i = (blockIdx.x * tile_size + t) * block_size_x + threadIdx.x;
    if (i < count) bitmap[i] = is_inside(points[i]);
  }
}

// The same for one point.
__global__ void cn_pnpoly(int* bitmap, float2 point) { bitmap[0] = is_inside(point); }
