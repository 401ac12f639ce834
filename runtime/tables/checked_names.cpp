#include "tables/checked_names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/suggest.h"
#include "family/problem.h"
#include "family/variant.h"
#include "tables/identity_json.h"

namespace mgtune {

Result<const Operator*> checked_operator(const JsonCursor& name, Catalog& catalog) {
  MGTUNE_ASSIGN(const std::string word, read_text(name));
  const Result<const Operator*> op = catalog.find_operator(word);
  if (op.ok()) return *op;
  return name.error(op.status().message() + "; --kernel FOLDER reads a family of your own");
}

Result<ImportedProblem> checked_problem(const JsonCursor& text, const Operator& op) {
  MGTUNE_ASSIGN(const std::string words, read_text(text));
  const auto assignments = parse_assignments(words);
  if (!assignments.ok()) return text.error(assignments.status().message());
  const Result<Problem> problem = bind_problem(op, *assignments);
  if (!problem.ok()) return text.error(problem.status().message());
  const Result<std::int64_t> bytes = op.bytes.evaluate(problem->slots);
  if (!bytes.ok()) return text.error(bytes.status().message());
  const Result<std::int64_t> flops = op.flops.evaluate(problem->slots);
  if (!flops.ok()) return text.error(flops.status().message());
  return ImportedProblem{op.full_name(), problem->text(), static_cast<double>(*bytes),
                         static_cast<double>(*flops)};
}

Result<std::string> checked_variant(const JsonCursor& place, const VariantWords& words,
                                    const Operator& op) {
  const Result<Variant> variant = parse_variant(op, words.text());
  if (!variant.ok()) return place.error(variant.status().message());
  return variant_text(op, *variant);
}

Result<std::string> checked_variant(const JsonCursor& design, const JsonCursor& values,
                                    const Operator& op) {
  VariantWords words;
  MGTUNE_ASSIGN(words.design, design.identifier());
  const auto found = std::ranges::find(op.designs, words.design, &Design::name);
  // What parse_variant() says of an unknown design is enough.
  if (found == op.designs.end()) return checked_variant(design, words, op);
  for (const Parameter& parameter : found->params) {
    const std::optional<JsonCursor> value = values.find(parameter.name);
    if (!value) return values.error("no parameter '" + parameter.name + "'");
    MGTUNE_ASSIGN(std::string word, value_word(*value));
    words.parameters.emplace_back(parameter.name, std::move(word));
  }
  return checked_variant(values, words, op);
}

}  // namespace mgtune
