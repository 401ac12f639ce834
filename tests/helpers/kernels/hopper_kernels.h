// Kernels that try <mg/wgmma.cuh> and <mg/tensor_copy.cuh> alone, and what they must compute. The
// cpu device and a GPU of compute capability 9.0 run the same text. Header-only.

#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "device/device.h"
#include "tests/helpers/kernels/cpu_module.h"

namespace mgtune {

// d (64 x N) = a (64 x K) * b, where b is N x K for a K-major operand and K x N for the other. The
// first product overwrites what d held, and the others are added.
inline constexpr char kProductSource[] = R"(
#include <mg/shared.cuh>
#include <mg/wgmma.cuh>

template <class Tile, class T>
__device__ void bring(const T* matrix, unsigned char* tile) {
  for (int i = threadIdx.x; i < Tile::kRows * Tile::kColumns; i += blockDim.x) {
    *reinterpret_cast<T*>(tile + Tile::offset(i / Tile::kColumns, i % Tile::kColumns)) = matrix[i];
  }
}

template <class T, int N, class B, bool B_MN_MAJOR, class A>
__device__ __forceinline__ void multiply(float (&sums)[N / 2], const A& a, const unsigned char* b,
                                         int step) {
  if constexpr (B_MN_MAJOR) {
    mg::wgmma<T, N>(sums, a, mg::mn_major<B>(b, step), step > 0);
  } else {
    mg::wgmma<T, N>(sums, a, mg::k_major<B>(b, 0, step), step > 0);
  }
}

template <class T, int N, int K, bool A_IN_REGISTERS, bool B_MN_MAJOR>
__global__ void __launch_bounds__(128) product(const T* a, const T* b, float* d) {
  using A = mg::PanelTile<T, 64, K>;
  using B = mg::PanelTile<T, B_MN_MAJOR ? K : N, B_MN_MAJOR ? N : K>;
  unsigned char* const a_tile = mg::dynamic_shared<unsigned char>();
  unsigned char* const b_tile = a_tile + (A::kBytes + 1023) / 1024 * 1024;
  bring<A>(a, a_tile);
  bring<B>(b, b_tile);
  mg::publish_to_wgmma();
  __syncthreads();
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
  float sums[N / 2];
  for (int i = 0; i < N / 2; ++i) sums[i] = 1e30f;
  mg::u32 of_a[K / 16][4];
  for (int i = 0; i < K / 4; ++i) {
    const int column = i / 4 * 16 + i % 4 / 2 * 8 + 2 * (lane % 4);
    memcpy(&of_a[i / 4][i % 4], a + (row + i % 2 * 8) * K + column, 4);
  }
  mg::wgmma_fence(sums);
#pragma unroll
  for (int step = 0; step < K / 16; ++step) {
    if constexpr (A_IN_REGISTERS) {
      multiply<T, N, B, B_MN_MAJOR>(sums, of_a[step], b_tile, step);
    } else {
      multiply<T, N, B, B_MN_MAJOR>(sums, mg::k_major<A>(a_tile, 0, step), b_tile, step);
    }
  }
  mg::wgmma_commit();
  mg::wgmma_wait<0>(sums);
  for (int i = 0; i < N / 2; ++i) {
    const int column = i / 4 * 8 + 2 * (lane % 4) + i % 2;
    d[(row + i % 4 / 2 * 8) * N + column] = sums[i];
  }
}
)";

struct WgmmaProduct {
  DType dtype;
  int n, k;
  bool a_in_registers, b_mn_major;

  std::string kernel() const {
    const auto truth = [](bool value) { return value ? ", true" : ", false"; };
    return "product<" + std::string(cuda_name(dtype)) + ", " + std::to_string(n) + ", " +
           std::to_string(k) + truth(a_in_registers) + truth(b_mn_major) + ">";
  }
  std::uint32_t shared_bytes() const { return static_cast<std::uint32_t>((64 + n) * k * 2 + 1024); }
  // An MN-major b consists of panels of at least 32 columns.
  bool exists() const { return !b_mn_major || n % 32 == 0; }
};

// Every width, each with both places of a and both layouts of b.
inline std::vector<WgmmaProduct> wgmma_products() {
  std::vector<WgmmaProduct> products;
  for (const int n : {16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256}) {
    for (const bool registers : {false, true}) {
      for (const bool mn_major : {false, true}) {
        const WgmmaProduct product{n % 32 == 0 ? DType::bf16 : DType::f16, n, n % 48 == 0 ? 96 : 64,
                                   registers, mn_major};
        if (product.exists()) products.push_back(product);
      }
    }
  }
  return products;
}

// Runs `product` on the device and compares it with the sums of whole numbers, which are exact.
inline void expect_product_right(Device& device, const Module& module,
                                 const WgmmaProduct& product) {
  SCOPED_TRACE(product.kernel());
  const auto n = static_cast<std::size_t>(product.n), k = static_cast<std::size_t>(product.k);
  std::mt19937 random(1);
  const auto numbers = [&](std::size_t count) {
    std::vector<double> values(count);
    for (double& value : values) value = static_cast<int>(random() % 17) - 8;
    return values;
  };
  const std::vector<double> a = numbers(64 * k), b = numbers(n * k);
  const auto of_a = DeviceTensor::upload(device, product.dtype, a).value();
  const auto of_b = DeviceTensor::upload(device, product.dtype, b).value();
  const auto of_d = DeviceTensor::poisoned(device, DType::f32, 64 * n).value();
  void* pointers[] = {of_a.data(), of_b.data(), of_d.data()};
  void* arguments[] = {&pointers[0], &pointers[1], &pointers[2]};
  KernelLaunch launch;
  launch.kernel = module.kernel(product.kernel()).value();
  launch.block = {128, 1, 1};
  launch.shared_bytes = product.shared_bytes();
  launch.args = arguments;
  ASSERT_TRUE(device.launch(launch).ok());
  ASSERT_TRUE(device.synchronize(nullptr).ok());
  const std::vector<double> d = of_d.download().value();
  for (std::size_t i = 0; i < 64 * n; ++i) {
    double expected = 0;
    for (std::size_t j = 0; j < k; ++j) {
      expected += a[i / n * k + j] * b[product.b_mn_major ? j * n + i % n : i % n * k + j];
    }
    ASSERT_EQ(d[i], expected) << "row " << i / n << ", column " << i % n;
  }
}

// Loads a box, writes shared memory into `seen` as it lies there, and stores the box into `to`.
inline constexpr char kBoxSource[] = R"(
#include <mg/shared.cuh>
#include <mg/tensor_copy.cuh>

template <int RANK>
__global__ void copy_box(const __grid_constant__ mg::TensorMap from,
                         const __grid_constant__ mg::TensorMap to, unsigned char* seen, int bytes,
                         int x, int y, int z, int u, int v) {
  MG_SHARED(mg::CopyBarrier, arrived);
  unsigned char* const box = mg::dynamic_shared<unsigned char>();
  if (threadIdx.x == 0) {
    mg::prefetch(from);
    mg::init(arrived, 1);
  }
  mg::publish_init();
  __syncthreads();
  if (threadIdx.x == 0) {
    mg::arrive_expecting(arrived, bytes);
    if constexpr (RANK == 2) mg::tensor_load(box, from, arrived, x, y);
    if constexpr (RANK == 3) mg::tensor_load_kept(box, from, arrived, x, y, z);
    if constexpr (RANK == 4) mg::tensor_load_once(box, from, arrived, x, y, z, u);
    if constexpr (RANK == 5) mg::tensor_load(box, from, arrived, x, y, z, u, v);
  }
  mg::wait(arrived, 0);
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) seen[i] = box[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    if constexpr (RANK == 2) mg::tensor_store(to, box, x, y);
    if constexpr (RANK == 3) mg::tensor_store(to, box, x, y, z);
    if constexpr (RANK == 4) mg::tensor_store(to, box, x, y, z, u);
    if constexpr (RANK == 5) mg::tensor_store(to, box, x, y, z, u, v);
    mg::commit_stores();
    mg::wait_for_stores<0>();
  }
}
)";

struct BoxCopy {
  std::uint32_t rank;
  std::array<std::uint64_t, 5> extent;
  std::array<std::uint32_t, 5> box;
  std::array<int, 5> place;
  TensorMap::Swizzle swizzle;

  std::string kernel() const { return "copy_box<" + std::to_string(rank) + ">"; }
};

// Boxes inside and over the ends, with each swizzle that kernels use.
inline std::vector<BoxCopy> box_copies() {
  using Swizzle = TensorMap::Swizzle;
  return {{2, {64, 40}, {64, 16}, {0, 8}, Swizzle::bytes_128},
          {2, {64, 40}, {64, 16}, {0, 32}, Swizzle::bytes_128},
          {2, {64, 40}, {64, 16}, {0, 31}, Swizzle::bytes_128},
          {2, {96, 20}, {32, 24}, {64, 0}, Swizzle::bytes_64},
          {3, {64, 24, 3}, {64, 16, 2}, {0, 16, 1}, Swizzle::bytes_128},
          {4, {32, 24, 3, 2}, {32, 8, 3, 1}, {0, 20, 0, 1}, Swizzle::bytes_64},
          {5, {64, 24, 2, 3, 2}, {64, 32, 2, 1, 1}, {0, 5, 0, 2, 1}, Swizzle::bytes_128}};
}

// The element of the tensor at a place in the box; SIZE_MAX outside. `in_box` counts densely.
inline std::size_t element_of_box(const BoxCopy& copy, std::size_t in_box) {
  std::size_t element = 0, stride = 1;
  bool is_inside = true;
  for (std::uint32_t i = 0; i < copy.rank; ++i) {
    const std::int64_t at = copy.place[i] + static_cast<std::int64_t>(in_box % copy.box[i]);
    in_box /= copy.box[i];
    is_inside = is_inside && at >= 0 && at < static_cast<std::int64_t>(copy.extent[i]);
    if (is_inside) element += static_cast<std::size_t>(at) * stride;
    stride *= copy.extent[i];
  }
  return is_inside ? element : SIZE_MAX;
}

inline void expect_box_copied(Device& device, const Module& module, const BoxCopy& copy) {
  SCOPED_TRACE(copy.kernel());
  std::size_t elements = 1, of_box = 1;
  TensorMapRequest request;
  request.dtype = DType::f16;
  request.rank = copy.rank;
  request.swizzle = copy.swizzle;
  for (std::uint32_t i = 0; i < copy.rank; ++i) {
    if (i > 0) request.stride_bytes[i - 1] = elements * 2;
    request.extent[i] = copy.extent[i];
    request.box[i] = copy.box[i];
    elements *= copy.extent[i];
    of_box *= copy.box[i];
  }
  std::vector<double> values(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = static_cast<double>(i % 2048);
  const auto from = DeviceTensor::upload(device, DType::f16, values).value();
  const auto to =
      DeviceTensor::upload(device, DType::f16, std::vector<double>(elements, -1)).value();
  const auto seen = DeviceTensor::poisoned(device, DType::f16, of_box).value();
  EncodedTensorMap from_map, to_map;
  request.memory = from.data();
  ASSERT_TRUE(device.encode_tensor_map(request, from_map).ok());
  request.memory = to.data();
  ASSERT_TRUE(device.encode_tensor_map(request, to_map).ok());
  void* pointer = seen.data();
  int bytes = static_cast<int>(of_box * 2);
  std::array<int, 5> place = copy.place;
  void* arguments[] = {&from_map, &to_map,   &pointer,  &bytes,   &place[0],
                       &place[1], &place[2], &place[3], &place[4]};
  KernelLaunch launch;
  launch.kernel = module.kernel(copy.kernel()).value();
  launch.block = {64, 1, 1};
  launch.shared_bytes = static_cast<std::uint32_t>(bytes);
  launch.args = arguments;
  ASSERT_TRUE(device.launch(launch).ok());
  const Status done = device.synchronize(nullptr);
  ASSERT_TRUE(done.ok()) << done.message();

  std::vector<double> stored(elements, -1);
  const std::vector<double> in_shared = seen.download().value();
  const std::size_t row_bytes = copy.box[0] * 2;
  for (std::size_t i = 0; i < of_box; ++i) {
    const std::size_t element = element_of_box(copy, i);
    const std::size_t row = i * 2 / row_bytes, piece = i * 2 % row_bytes / 16;
    const std::size_t key = copy.swizzle == TensorMap::Swizzle::bytes_128  ? row % 8
                            : copy.swizzle == TensorMap::Swizzle::bytes_64 ? row / 2 % 4
                                                                           : 0;
    const std::size_t place_in_shared = (row * row_bytes + (piece ^ key) * 16) / 2 + i % 8;
    ASSERT_EQ(in_shared[place_in_shared], element == SIZE_MAX ? 0 : values[element]) << i;
    if (element != SIZE_MAX) stored[element] = values[element];
  }
  EXPECT_EQ(to.download().value(), stored);
}

}  // namespace mgtune
