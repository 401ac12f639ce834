// <mg/swizzle.cuh>, <mg/ldmatrix.cuh>, copy_or_zero of <mg/async_copy.cuh> and the helpers of
// <mg/mma.cuh>: tiles on their way from global memory into the fragments of a matrix product. What
// they compute on the cpu device, that the swizzle keeps banks apart, and that NVRTC takes the PTX.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "tests/helpers/kernels/kernel_text_fixture.h"

namespace mgtune {
namespace {

// A warp copies `rows` rows of 16-byte pieces, of kRows, into swizzled shared memory, and reads
// fragments of 16 rows and 16 columns from there, at each step along the rows.
constexpr char kTilesSource[] = R"(
#include <mg/async_copy.cuh>
#include <mg/ldmatrix.cuh>
#include <mg/math.cuh>
#include <mg/mma.cuh>
#include <mg/shared.cuh>
#include <mg/stmatrix.cuh>
#include <mg/swizzle.cuh>
#include <mg/types.cuh>

template <int kRowBytes>
__global__ void offsets(unsigned int* out) {  // [32][kRowBytes / 16]
  for (int piece = 0; piece < kRowBytes / 16; ++piece) {
    const mg::SwizzledLane<kRowBytes> lane(threadIdx.x % 8u, piece % 2);
    const mg::u32 by_lane = lane.offset(threadIdx.x / 8 * 8, piece / 2);
    const mg::u32 at = mg::swizzled<kRowBytes>(threadIdx.x, piece);
    out[threadIdx.x * (kRowBytes / 16) + piece] = at == by_lane ? at : 0xffffffffu;
  }
}

template <int kRowBytes, bool kTransposed>
__global__ void fragments(const unsigned short* in, unsigned int* out, int rows) {
  constexpr int kRows = 16, kPieces = kRowBytes / 16;
  unsigned char* const tile = mg::dynamic_shared<unsigned char>();
  mg::AsyncCopies<kRows * kPieces / 32 + 1> copies;
  for (int i = threadIdx.x; i < kRows * kPieces; i += 32) {
    const int row = i / kPieces, piece = i % kPieces;
    copies.template copy_or_zero<16>(tile + mg::swizzled<kRowBytes>(row, piece),
                                     in + row * kPieces * 8 + piece * 8, row < rows);
  }
  copies.end_group();
  copies.template wait<0>();
  __syncthreads();
  const mg::SwizzledLane<kRowBytes> lane(threadIdx.x % 16u, threadIdx.x / 16u);
  for (int step = 0; step < kPieces / 2; ++step) {
    mg::u32 words[4];
    if (kTransposed) {
      mg::ldmatrix_x4_transposed(words, tile + lane.offset(0, step));
    } else {
      mg::ldmatrix_x4(words, tile + lane.offset(0, step));
    }
    for (int m = 0; m < 4; ++m) out[(step * 32 + threadIdx.x) * 4 + m] = words[m];
  }
}

// 32 rows of 8 elements: four matrices below each other.
template <bool kTransposed>
__global__ void stored(const unsigned int* in, unsigned short* out) {
  unsigned short* const tile = mg::dynamic_shared<unsigned short>();
  mg::u32 words[4];
  for (int m = 0; m < 4; ++m) words[m] = in[threadIdx.x * 4 + m];
  if (kTransposed) {
    mg::stmatrix_x4_transposed(tile + threadIdx.x * 8, words);
  } else {
    mg::stmatrix_x4(tile + threadIdx.x * 8, words);
  }
  __syncwarp();
  for (int i = 0; i < 8; ++i) out[threadIdx.x * 8 + i] = tile[threadIdx.x * 8 + i];
}

template <class T>
__global__ void quads(const float* in, float* out) {
  const float x = in[threadIdx.x];
  float two[2];
  mg::unpack<T>(mg::pack<T>(x, -x), two);
  out[threadIdx.x] = mg::quad_max(two[0]);
  out[32 + threadIdx.x] = mg::quad_sum(two[1]);
  out[64 + threadIdx.x] = mg::exp2_approx(x);
}

template <class T, int K>
__global__ void product(const unsigned int* in, float* out) {
  float d[4] = {};
  mg::mma_m16n8<T, K>(d, in + threadIdx.x * 4, in + threadIdx.x * 2);
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
)";

const std::vector<int> kRowBytes = {64, 128, 192, 256, 512};

std::string of(const std::string& kernel, int bytes) {
  return kernel + "<" + std::to_string(bytes) + ">";
}
std::string fragments_kernel(int bytes, bool transposed) {
  return "fragments<" + std::to_string(bytes) + (transposed ? ", true>" : ", false>");
}

std::vector<std::string> names() {
  std::vector<std::string> all = {"quads<__half>", "quads<__nv_bfloat16>"};
  for (const int bytes : kRowBytes) {
    all.push_back(of("offsets", bytes));
    for (const bool transposed : {false, true}) all.push_back(fragments_kernel(bytes, transposed));
  }
  return all;
}

const std::vector<std::string> kStored = {"stored<false>", "stored<true>"};

class MgTiles : public KernelTextTest<> {
 protected:
  static void SetUpTestSuite() {
    std::vector<std::string> all = names();
    all.insert(all.end(), kStored.begin(), kStored.end());
    build_kernels(kTilesSource, all);
  }
};

TEST_F(MgTiles, SwizzleIsAPermutationThatKeepsBanksApart) {
  for (const int bytes : kRowBytes) {
    const auto pieces = static_cast<std::size_t>(bytes / 16);
    const HostArray<std::uint32_t> at(kernels->device(), 32 * pieces);
    ASSERT_TRUE(kernels->launch(of("offsets", bytes), {}, at.data()).ok());
    std::set<std::uint32_t> places;
    for (std::size_t i = 0; i < 32 * pieces; ++i) places.insert(at[i]);
    EXPECT_EQ(places.size(), 32 * pieces);
    EXPECT_EQ(*places.rbegin(), 32 * pieces * 16 - 16);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      for (std::size_t first = 0; first < 32; first += 8) {
        std::set<std::uint32_t> banks;  // groups of four
        for (std::size_t row = first; row < first + 8; ++row) {
          banks.insert(at[row * pieces + piece] / 16 % 8);
        }
        EXPECT_EQ(banks.size(), 8U) << bytes << " bytes, piece " << piece;
      }
    }
  }
}

TEST_F(MgTiles, FragmentsAreTheirElementsAndZerosBehindTheEnd) {
  for (const int bytes : kRowBytes) {
    const auto columns = static_cast<std::size_t>(bytes / 2);
    for (const int rows : {16, 11, 1}) {
      // Rows that are not there hold what must not be read.
      const HostArray<std::uint16_t> in(kernels->device(), std::size_t(rows) * columns);
      for (std::size_t i = 0; i < std::size_t(rows) * columns; ++i) in[i] = std::uint16_t(i + 1);
      const auto element = [&](std::size_t row, std::size_t column) -> std::uint32_t {
        return row < std::size_t(rows) ? in[row * columns + column] : 0;
      };
      const HostArray<std::uint32_t> out(kernels->device(), columns / 16 * 128);
      for (const bool transposed : {false, true}) {
        for (const ThreadOrder order : thread_orders()) {
          ASSERT_TRUE(kernels->device().set_thread_order(order).ok());
          LaunchShape shape;
          shape.shared_bytes = static_cast<std::uint32_t>(16 * bytes);
          const Status status = kernels->launch(fragments_kernel(bytes, transposed), shape,
                                                in.data(), out.data(), rows);
          ASSERT_TRUE(status.ok()) << status.message();
          for (std::size_t i = 0; i < columns / 16 * 128; ++i) {
            const std::size_t m = i % 4, lane = i / 4 % 32, step = i / 128;
            const std::size_t row = m % 2 * 8, column = 16 * step + m / 2 * 8;
            const std::size_t g = lane / 4, q = lane % 4;
            const std::uint32_t expected =
                transposed
                    ? element(row + 2 * q, column + g) | element(row + 2 * q + 1, column + g) << 16
                    : element(row + g, column + 2 * q) | element(row + g, column + 2 * q + 1) << 16;
            ASSERT_EQ(out[i], expected) << bytes << " " << rows << " at " << i;
          }
        }
      }
    }
  }
}

TEST_F(MgTiles, MatricesAreStoredAsTheyAreOrTransposed) {
  const HostArray<std::uint32_t> in(kernels->device(), 128);
  const HostArray<std::uint16_t> out(kernels->device(), 256);
  for (std::size_t i = 0; i < 128; ++i) in[i] = std::uint32_t(2 * i + ((2 * i + 1) << 16));
  for (const bool transposed : {false, true}) {
    LaunchShape shape;
    shape.shared_bytes = 512;
    ASSERT_TRUE(kernels->launch(kStored[transposed], shape, in.data(), out.data()).ok());
    for (std::size_t i = 0; i < 256; ++i) {
      const std::size_t word = i / 2, m = word % 4, lane = word / 4;
      const std::size_t row = lane / 4, column = lane % 4 * 2 + i % 2;
      const std::size_t at = transposed ? column * 8 + row : row * 8 + column;
      EXPECT_EQ(out[m * 64 + at], i) << transposed;
    }
  }
}

TEST_F(MgTiles, QuadsShareMaximaAndSumsOfWhatWasRounded) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const HostArray<float> in(kernels->device(), 32), out(kernels->device(), 96);
    const auto rounded = [&](float x) {
      std::uint16_t bits = 0;
      put_element(reinterpret_cast<unsigned char*>(&bits), 0, dtype, x);
      return static_cast<float>(
          element_as_double(reinterpret_cast<const unsigned char*>(&bits), 0, dtype));
    };
    for (std::size_t i = 0; i < 32; ++i) in[i] = std::sin(float(i)) * 100 - 60;
    in[5] = -std::numeric_limits<float>::infinity();
    const std::string kernel = "quads<" + std::string(cuda_name(dtype)) + ">";
    ASSERT_TRUE(kernels->launch(kernel, {}, in.data(), out.data()).ok());
    for (std::size_t i = 0; i < 32; ++i) {
      float largest = rounded(in[i / 4 * 4]), sum = 0;
      for (std::size_t j = i / 4 * 4; j < i / 4 * 4 + 4; ++j) {
        largest = std::max(largest, rounded(in[j]));
        sum -= rounded(in[j]);
      }
      EXPECT_EQ(out[i], largest);
      if (std::isinf(sum)) {
        EXPECT_EQ(out[32 + i], sum);
      } else {
        EXPECT_NEAR(out[32 + i], sum, 1e-4F);
      }
      EXPECT_NEAR(out[64 + i], std::exp2(in[i]), 1e-6F * std::exp2(in[i]) + 0x1p-126F);
    }
    EXPECT_EQ(out[64 + 5], 0.0F);
  }
}

TEST(MgTilesForGpus, CompileWhereTheHardwareHasThem) {
  for (const char* arch : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}) {
    std::vector<std::string> all = names();
    all.insert(all.end(), {"product<__half, 8>", "product<__half, 16>", "product<__nv_bfloat16, 8>",
                           "product<__nv_bfloat16, 16>"});
    const bool has_stmatrix = arch[3] == '1' || arch[3] == '9';
    if (has_stmatrix) all.insert(all.end(), kStored.begin(), kStored.end());
    const Result<Build> build = build_kernel_text(kTilesSource, all, arch);
    EXPECT_TRUE(build.ok()) << arch << ": " << build.status().message();
  }
  const Result<Build> build = build_kernel_text(
      kTilesSource, {of("offsets", 128), "quads<__half>", "product<__half, 8>"}, "sm_75");
  EXPECT_TRUE(build.ok()) << build.status().message();
}

}  // namespace
}  // namespace mgtune
