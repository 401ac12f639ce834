// Reads the __global__ functions of a CUDA file: their names, template parameters and parameters.
// For each parameter it finds what an operator file can say about it. Pure functions; plain data.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "scaffold/cuda_source.h"

namespace mgtune {

// Where a kernel is defined, as indices of tokens.
struct KernelPlace {
  std::string name;
  int line = 0;
  std::size_t template_list = 0;  // its "<"; 0: the kernel is no template
  std::size_t parameters = 0;     // the "("
  std::size_t body = 0, end = 0;  // the "{", and the token behind its "}"
};

// All definitions in the file, in order. A declaration without a body does not count.
std::vector<KernelPlace> find_kernels(const CudaSource& source);

struct TemplateParameter {
  enum class Kind : std::uint8_t { type, integer, boolean };
  std::string name;
  Kind kind = Kind::integer;
  std::string fallback;  // its default as written; "" if it has none
  int line = 0;
};

struct KernelParameter {
  std::string name;
  std::string type;           // as written, without const and __restrict__
  std::string type_variable;  // the template parameter that is its type; then `dtype` is not used
  DType dtype = DType::f32;
  int lanes = 1;  // 4 for float4
  bool pointer = false;
  bool constant = false;  // the pointee is const
  int line = 0;
};

struct KernelSignature {
  std::string name;
  std::vector<TemplateParameter> template_parameters;
  std::vector<KernelParameter> parameters;
};

// A __constant__ array without an initializer: the host fills it.
struct ConstantArray {
  KernelParameter array;
  std::vector<std::string> extents;  // as written: {"filter_height*filter_width"}
};

// The __constant__ arrays of the file whose elements have a dtype, in order.
std::vector<ConstantArray> find_constant_arrays(const CudaSource& source);

// The bytes of an element: 4 for "float", 16 for "float4"; nullopt for a type without a dtype.
std::optional<std::int64_t> bytes_of_type(const std::string& type);

// unsupported, with file, line and parameter, for a type that an operator file cannot pass: a
// pointer to a pointer, a reference, a struct, a texture, a parameter pack.
Result<KernelSignature> read_signature(const CudaSource& source, const KernelPlace& place);

}  // namespace mgtune
