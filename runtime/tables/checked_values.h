// Reads the values of an export, which may come from strangers. Texts are short and printable, and
// numbers are not negative. An operator, a problem or a variant that the operators of the library
// do not offer is refused: an import brings a design and values of its parameters, and nothing that
// could not have been swept here. Failures are invalid_argument with file and place. Pure, except
// for the Catalog, which only one thread may use.

#pragma once

#include <string>

#include "core/status.h"
#include "family/catalog.h"
#include "family/operator.h"
#include "json/json_cursor.h"
#include "store/import.h"
#include "store/records.h"
#include "tables/variant_words.h"

namespace mgtune {

Result<GpuRecord> read_gpu(const JsonCursor& gpu);
Result<EnvironmentRecord> read_environment(const JsonCursor& environment);

// At most 1,000 bytes of UTF-8 without control characters.
Result<std::string> read_text(const JsonCursor& text);

Result<double> read_positive(const JsonCursor& number);

// "2026-11-21T09:00:00Z"
Result<std::string> read_time_stamp(const JsonCursor& text);

// An identifier; "emulation" on the cpu device and there alone: its times are no GPU's.
Result<std::string> read_method(const JsonCursor& method, const GpuRecord& gpu);

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
