#include "check/problem_struct.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace mgtune {
namespace {

// Every member is aligned to its own size, as compilers for x86-64 and for GPUs align it.
class Layout {
 public:
  void add(const void* value, std::size_t bytes) {
    pad_to(bytes);
    const auto* first = static_cast<const std::uint8_t*>(value);
    bytes_.insert(bytes_.end(), first, first + bytes);
    alignment_ = std::max(alignment_, bytes);
  }

  std::vector<std::uint8_t> bytes() && {
    pad_to(alignment_);
    if (bytes_.empty()) bytes_.push_back(0);  // a struct without members has one byte
    return std::move(bytes_);
  }

 private:
  void pad_to(std::size_t alignment) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
  }

  std::vector<std::uint8_t> bytes_;
  std::size_t alignment_ = 1;
};

bool has_scalar(const Operator& op, DType dtype) {
  return std::ranges::find(op.scalars, dtype, &Scalar::dtype) != op.scalars.end();
}

std::string definition(const Operator& op) {
  std::string text;
  if (has_scalar(op, DType::f16)) text += "#include <cuda_fp16.h>\n";
  if (has_scalar(op, DType::bf16)) text += "#include <cuda_bf16.h>\n";
  text += "struct Problem {\n";
  for (const Dim& dim : op.dims) text += fmt::format("  long long {};\n", dim.name);
  for (const Scalar& scalar : op.scalars) {
    text += fmt::format("  {} {};\n", cuda_name(scalar.dtype), scalar.name);
  }
  for (const Flag& flag : op.flags) text += fmt::format("  bool {};\n", flag.name);
  return text + "};\n";
}

}  // namespace

SourceTree reference_sources(const Operator& op) {
  SourceTree sources = *op.sources;
  sources.files[kReferenceUnit] =
      fmt::format("{}#include \"{}\"\n", definition(op), op.check.source);
  return sources;
}

std::vector<std::uint8_t> problem_struct(const Problem& problem,
                                         const std::vector<ScalarValue>& scalars) {
  const Operator& op = *problem.op;
  Layout layout;
  for (const Dim& dim : op.dims) {
    layout.add(&problem.slots[static_cast<std::size_t>(dim.slot)], sizeof(long long));
  }
  for (std::size_t i = 0; i < op.scalars.size(); ++i) {
    layout.add(&scalars[i], static_cast<std::size_t>(size_in_bytes(op.scalars[i].dtype)));
  }
  for (const Flag& flag : op.flags) {
    const bool is_set = problem.slots[static_cast<std::size_t>(flag.slot)] != 0;
    layout.add(&is_set, sizeof(is_set));
  }
  return std::move(layout).bytes();
}

}  // namespace mgtune
