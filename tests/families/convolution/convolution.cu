// A two-dimensional convolution, as it is written outside of mgtune: macros instead of templates,
// the filter in constant memory, and an extern "C" kernel.

#include "detail/tile.h"

__constant__ float d_filter[filter_height * filter_width];

#if read_only
#define READ(pointer) __ldg(pointer)
#else
#define READ(pointer) (*(pointer))
#endif

#define TILE_WIDTH (block_size_x * tile_size_x)
#define TILE_HEIGHT (block_size_y * tile_size_y)
#define INPUT_WIDTH (image_width + filter_width - 1)
#define INPUT_HEIGHT (image_height + filter_height - 1)

// Each thread computes tile_size_x * tile_size_y elements, which are a block's width and height
// apart. All loops over the filter are unrolled, so that its weights are operands of instructions.
extern "C" __global__ void convolution_kernel(float* output, const float* input) {
  __shared__ float tile[TILE_HEIGHT + filter_height - 1][PADDED(TILE_WIDTH + filter_width - 1)];
  const int left = blockIdx.x * TILE_WIDTH, top = blockIdx.y * TILE_HEIGHT;

  for (int y = threadIdx.y; y < TILE_HEIGHT + filter_height - 1; y += block_size_y) {
    for (int x = threadIdx.x; x < TILE_WIDTH + filter_width - 1; x += block_size_x) {
      const bool inside = top + y < INPUT_HEIGHT && left + x < INPUT_WIDTH;
      tile[y][x] = inside ? READ(&input[(top + y) * INPUT_WIDTH + left + x]) : 0.0f;
    }
  }
  __syncthreads();

  float sum[tile_size_y][tile_size_x] = {};
#pragma unroll
  for (int i = 0; i < filter_height; ++i) {
#pragma unroll
    for (int j = 0; j < filter_width; ++j) {
      const float weight = d_filter[i * filter_width + j];
#pragma unroll
      for (int ty = 0; ty < tile_size_y; ++ty) {
#pragma unroll
        for (int tx = 0; tx < tile_size_x; ++tx) {
          const int y = threadIdx.y + ty * block_size_y, x = threadIdx.x + tx * block_size_x;
          sum[ty][tx] += tile[y + i][x + j] * weight;
        }
      }
    }
  }
#pragma unroll
  for (int ty = 0; ty < tile_size_y; ++ty) {
#pragma unroll
    for (int tx = 0; tx < tile_size_x; ++tx) {
      const int y = top + threadIdx.y + ty * block_size_y;
      const int x = left + threadIdx.x + tx * block_size_x;
      if (y < image_height && x < image_width) output[y * image_width + x] = sum[ty][tx];
    }
  }
}
