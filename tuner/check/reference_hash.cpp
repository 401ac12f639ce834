#include <fmt/format.h>

#include <string>

#include "check/given_results.h"
#include "check/reference.h"
#include "compiler/compiler.h"
#include "core/sha256.h"
#include "family/source_tree.h"
#include "system/file_system.h"
#include "tensors/output_fill.h"

namespace mgtune {
namespace {

// This text changes when the rules of a check change. Older results are then checked again.
constexpr char kRules[] = "1: relative L2, one element 16 times, finiteness, guards, two seeds";

void add(Sha256& hash, const std::vector<Expression>& expressions) {
  hash.update_field(std::to_string(expressions.size()));
  for (const Expression& expression : expressions) hash.update_field(expression.text());
}

// Adds the content of a file below the family's folder to the hash, or the fact that the file is
// missing.
void add_file(Sha256& hash, const Operator& op, const std::string& path) {
  std::string full_path = op.sources->folder;
  const Result<std::string> content =
      FileSystem::real().read_file(full_path.append("/").append(path));
  hash.update_field(path);
  hash.update_field(content.ok() ? sha256_hex(*content) : content.status().message());
}

// If an argument of the command is a file of the family, such as the script, its content is hashed.
void add_given_results(Sha256& hash, const Operator& op) {
  for (const auto& [output, source] : op.check.files) {
    hash.update_field(output);
    hash.update_field(source.array);
    add_file(hash, op, source.path);
  }
  for (const std::string& word : op.check.command) {
    hash.update_field(word);
    if (FileSystem::real().exists(op.sources->folder + "/" + word)) add_file(hash, op, word);
  }
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
  if (check.reference_type != DType::f64) {
    hash.update_field(fmt::format("type {}", to_string(check.reference_type)));
  }
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
    if (tensor.fill.kind == Fill::Kind::file) {
      hash.update_field(tensor.fill.file.array);
      add_file(hash, op, tensor.fill.file.path);
    }
    if (tensor.fill.kind != Fill::Kind::output) continue;
    const Result<Operator> source = fill_source(op, tensor);
    hash.update_field(source.ok() ? reference_hash(*source) : source.status().message());
  }
  for (const Scalar& scalar : op.scalars) {
    hash.update_field(
        fmt::format("{} {} {}", scalar.name, to_string(scalar.dtype), scalar.check_value));
  }
  add(hash, op.check);
  if (has_given_results(op.check)) add_given_results(hash, op);
  return hash.hex();
}

}  // namespace mgtune
