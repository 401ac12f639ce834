// The minimum cost of a problem, and how results are judged.

#include <fmt/format.h>

#include <algorithm>

#include "family/decode.h"

namespace mgtune {
namespace {

Status decode_reference(const JsonCursor& cursor, Operator& op) {
  MGTUNE_ASSIGN(std::string word, cursor.string());
  if (is_identifier(word)) {
    op.check.source = "reference.cu";
    op.check.reference = std::move(word);
    return {};
  }
  MGTUNE_ASSIGN(op.check.source, decode_source_path(cursor));
  op.check.reference = op.family + "_" + op.name + "_reference";
  return {};
}

Result<std::map<DType, double>> decode_bounds(const JsonCursor& cursor) {
  std::map<DType, double> bounds;
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, cursor.members());
  for (const JsonCursor& member : members) {
    const auto dtype = dtype_from_string(member.key());
    if (!dtype) return member.error(fmt::format("'{}' is not a dtype", member.key()));
    MGTUNE_ASSIGN(const double bound, member.number());
    if (!(bound >= 0)) return member.error("expected a number that is not negative");
    bounds.emplace(*dtype, bound);
  }
  return bounds;
}

std::vector<DType> possible_dtypes(const Tensor& tensor, const Operator& op) {
  if (tensor.dtype.slot < 0) return {tensor.dtype.fixed};
  return std::ranges::find(op.dtypes, tensor.dtype.slot, &DTypeVariable::slot)->values;
}

// An output without a tolerance could never be judged.
Status check_coverage(const JsonCursor& tolerance, const Operator& op) {
  for (const Tensor& tensor : op.tensors) {
    if (tensor.role == Role::in) continue;
    for (const DType dtype : possible_dtypes(tensor, op)) {
      if (op.check.tolerance.contains(dtype)) continue;
      return tolerance.error(
          fmt::format("missing key '{}', which '{}' may be", to_string(dtype), tensor.name));
    }
  }
  return {};
}

}  // namespace

Status decode_cost(const JsonCursor& cost, Operator& op) {
  MGTUNE_TRY(cost.expect_keys({"bytes", "flops"}));
  MGTUNE_ASSIGN(op.bytes,
                decode_expression(cost.at("bytes"), op.scope, ValueType::integer, Known::problem));
  MGTUNE_ASSIGN(op.flops,
                decode_expression(cost.at("flops"), op.scope, ValueType::integer, Known::problem));
  return {};
}

Status decode_check(const JsonCursor& check, Operator& op) {
  MGTUNE_TRY(check.expect_keys({"reference", "measure"},
                               {"tolerance", "baseline", "slack", "sample_rows"}));
  MGTUNE_TRY(decode_reference(check.at("reference"), op));
  MGTUNE_ASSIGN(const std::size_t measure,
                check.at("measure").choice({"relative_l2", "twice_low_precision"}));
  op.check.measure = static_cast<Measure>(measure);
  if (op.check.measure == Measure::relative_l2) {
    MGTUNE_TRY(check.expect_keys({"reference", "measure", "tolerance"}, {"sample_rows"}));
    MGTUNE_ASSIGN(op.check.tolerance, decode_bounds(check.at("tolerance")));
    MGTUNE_TRY(check_coverage(check.at("tolerance"), op));
  } else {
    MGTUNE_TRY(check.expect_keys({"reference", "measure", "baseline"}, {"slack", "sample_rows"}));
    MGTUNE_ASSIGN(op.check.baseline, check.at("baseline").identifier());
    if (const auto slack = check.find("slack")) {
      MGTUNE_ASSIGN(op.check.slack, decode_bounds(*slack));
    }
  }
  if (const auto sample_rows = check.find("sample_rows")) {
    MGTUNE_ASSIGN(op.check.sample_rows, sample_rows->integer());
    if (op.check.sample_rows < 1) return sample_rows->error("expected a positive integer");
  }
  return {};
}

}  // namespace mgtune
