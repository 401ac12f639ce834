// What a file names of operators, held against the operators at hand: an operator, a problem or a
// variant that they do not offer is refused. So an import brings (design, parameter -> value) and
// nothing that could not have been swept here. Failures are invalid_argument with file and place.
// One thread per catalog.

#pragma once

#include <string>

#include "core/status.h"
#include "family/catalog.h"
#include "family/operator.h"
#include "json/json_cursor.h"
#include "store/import.h"
#include "tables/variant_words.h"

namespace mgtune {

Result<const Operator*> checked_operator(const JsonCursor& name, Catalog& catalog);

// Its canonical text, and its cost by the formulas of today.
Result<ImportedProblem> checked_problem(const JsonCursor& text, const Operator& op);

// variant_text() of the variant that stands at `place`.
Result<std::string> checked_variant(const JsonCursor& place, const VariantWords& words,
                                    const Operator& op);

// The value of every parameter of the design that `object` names under "design", from
// `values`, which may hold more.
Result<std::string> checked_variant(const JsonCursor& design, const JsonCursor& values,
                                    const Operator& op);

}  // namespace mgtune
