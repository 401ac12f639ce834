// Guesses from the text of a kernel what its signature does not say: which macros and other names
// get their values from outside, how pointers are used, and how blocks are mapped to the work. The
// guesses go into a first operator file, which a person then reads. Pure functions; plain data.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scaffold/kernel_signature.h"

namespace mgtune {

// A name that a -D option of the compiler can set.
struct OpenName {
  enum class Origin : std::uint8_t {
    guarded,    // #ifndef NAME, #define NAME 128: the compiler's -D replaces the value
    undefined,  // used, but defined nowhere in the file
    fixed,      // #define NAME 128 without #ifndef: -D cannot replace the value
  };
  std::string name;
  Origin origin = Origin::undefined;
  std::optional<std::int64_t> value;  // of its #define, if it is an integer
  int line = 0;                       // of the #define, or of the first use
};

// Finds macros with an integer value, and names that nothing declares: all names in capitals, and
// any names in the kernel. They come in the order of the file. Names of CUDA and of C are not
// included.
std::vector<OpenName> find_open_names(const CudaSource& source, const KernelPlace& place,
                                      const KernelSignature& signature);

// The integers that the macro `name` is compared with, ascending: 0 and 1 for "#if METHOD == 0",
// "#elif METHOD == 1". If an #else follows the last comparison, the next integer is added for it.
std::vector<std::int64_t> compared_values(const CudaSource& source, const std::string& name);

enum class PointerUse : std::uint8_t {
  read,
  written,
  read_and_written,
  unused,
  unknown,  // it is passed to a function or copied to another pointer
};
PointerUse find_use(const CudaSource& source, const KernelPlace& place, const std::string& pointer);

// How the kernel uses one axis of the grid: 'x', 'y' or 'z'.
struct AxisUse {
  bool blocks = false;    // it reads blockIdx
  bool threads = false;   // it reads threadIdx or blockDim
  bool elements = false;  // it multiplies blockIdx by the block size, or strides by gridDim
};
// `block_sizes`: names of parameters that are sizes of blocks.
AxisUse find_axis_use(const CudaSource& source, const KernelPlace& place, char axis,
                      const std::vector<std::string>& block_sizes);

}  // namespace mgtune
