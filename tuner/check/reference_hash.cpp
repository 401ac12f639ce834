#include <fmt/format.h>

#include <string>

#include "check/reference.h"
#include "compiler/compiler.h"
#include "core/sha256.h"
#include "family/source_tree.h"
#include "tensors/output_fill.h"

namespace mgtune {
namespace {

// This text changes when the rules of a check change. Older results are then checked again.
constexpr char kRules[] = "1: relative L2, one element 16 times, finiteness, guards, two seeds";

void add(Sha256& hash, const std::vector<Expression>& expressions) {
  hash.update_field(std::to_string(expressions.size()));
  for (const Expression& expression : expressions) hash.update_field(expression.text());
}

void add(Sha256& hash, const Tensor& tensor) {
  hash.update_field(tensor.name);
  hash.update_field(fmt::format("role {} dtype {} slot {} align {} optional {}",
                                static_cast<int>(tensor.role), to_string(tensor.dtype.fixed),
                                tensor.dtype.slot, tensor.align, tensor.optional));
  add(hash, tensor.shape);
  add(hash, tensor.strides);
  hash.update_field(tensor.when ? tensor.when->text() : "");
  const Fill& fill = tensor.fill;
  hash.update_field(fmt::format("fill {} {} {}", static_cast<int>(fill.kind), fill.low, fill.high));
  hash.update_field(fill.kernel);
  hash.update_field(fill.source_operator);
  hash.update_field(fill.source_output);
}

void add(Sha256& hash, const Check& check) {
  hash.update_field(check.reference);
  hash.update_field(check.baseline);
  hash.update_field(
      fmt::format("measure {} sample {}", static_cast<int>(check.measure), check.sample_rows));
  for (const auto& [dtype, tolerance] : check.tolerance) {
    hash.update_field(fmt::format("tolerance {} {}", to_string(dtype), tolerance));
  }
  for (const auto& [dtype, slack] : check.slack) {
    hash.update_field(fmt::format("slack {} {}", to_string(dtype), slack));
  }
}

}  // namespace

std::string reference_hash(const Operator& op) {
  const SourceTree common = embedded_source_tree("kernels/common");
  Sha256 hash;
  hash.update_field(kRules);
  // A build key follows includes. The compiler is left out: the reference's results do not depend
  // on it.
  const SourceTree sources = reference_sources(op);
  hash.update_field(build_key({&sources, kReferenceUnit, {}, ""}, ""));
  hash.update_field(build_key({&common, "fill.cu", {}, ""}, ""));
  for (const Tensor& tensor : op.tensors) {
    add(hash, tensor);
    if (tensor.fill.kind != Fill::Kind::output) continue;
    const Result<Operator> source = fill_source(op, tensor);
    hash.update_field(source.ok() ? reference_hash(*source) : source.status().message());
  }
  for (const Scalar& scalar : op.scalars) {
    hash.update_field(
        fmt::format("{} {} {}", scalar.name, to_string(scalar.dtype), scalar.check_value));
  }
  add(hash, op.check);
  return hash.hex();
}

}  // namespace mgtune
