// What the text of a kernel says besides its signature: the macros and other names that somebody
// gives a value from outside, how pointers are used, and how blocks are laid over the work. Guesses
// from the tokens, for a first operator file that a person then reads. Pure functions; plain data.

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
    undefined,  // used, and defined nowhere in the file
    fixed,      // #define NAME 128 without #ifndef: -D cannot replace the value
  };
  std::string name;
  Origin origin = Origin::undefined;
  std::optional<std::int64_t> value;  // its #define, if that is an integer
  int line = 0;                       // of the #define, or of the first use
};

// In the order in which the file has them: macros with an integer as their value, and names in
// capitals or in the kernel that nothing declares. Names of CUDA and of C are not among them.
std::vector<OpenName> find_open_names(const CudaSource& source, const KernelPlace& place,
                                      const KernelSignature& signature);

// The integers that a switch is compared with, ascending: 0 and 1 for "#if METHOD == 0", "#elif
// METHOD == 1". If an #else follows the last one, the next integer stands for it.
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
  bool elements = false;  // it multiplies blockIdx with the size of a block, or strides by gridDim
};
// `block_sizes`: names of parameters that are sizes of blocks.
AxisUse find_axis_use(const CudaSource& source, const KernelPlace& place, char axis,
                      const std::vector<std::string>& block_sizes);

}  // namespace mgtune
