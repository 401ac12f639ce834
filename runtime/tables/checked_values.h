// Reads the values of an export. The file may come from strangers, so every value is checked: texts
// must be short and printable, and numbers must not be negative. An operator, a problem or a
// variant must be one that a sweep with the operators of the catalog could find; everything else is
// refused. Failures are invalid_argument with file and place. Pure, except for the Catalog, which
// only one thread may use.

#pragma once

#include <string>

#include "core/status.h"
#include "core/variant_words.h"
#include "database/gpu_record.h"
#include "database/pick.h"
#include "family/catalog.h"
#include "family/operator.h"
#include "json/json_cursor.h"

namespace mgtune {

Result<GpuRecord> read_gpu(const JsonCursor& gpu);
Result<EnvironmentRecord> read_environment(const JsonCursor& environment);

// A text must have at most 1,000 bytes and no control characters.
Result<std::string> read_text(const JsonCursor& text);

Result<double> read_positive(const JsonCursor& number);

// A time in UTC, for example "2026-11-21T09:00:00Z".
Result<std::string> read_time_stamp(const JsonCursor& text);

// A method of timing, which is a C identifier. Results of the cpu device must have the method
// "emulation", and results of a GPU must have another one. Picks of both may have "token".
Result<std::string> read_method(const JsonCursor& method, const GpuRecord& gpu);

Result<const Operator*> checked_operator(const JsonCursor& name, Catalog& catalog);

// The problem with its canonical text. Its bytes and flops are computed here, with the formulas of
// `op`; they are not read from the file.
Result<ProblemRecord> checked_problem(const JsonCursor& text, const Operator& op);

// The variant_text() of the design that `design` names. The object `values` must have a value for
// every parameter of the design. It may have other keys too, which are ignored.
Result<std::string> checked_variant(const JsonCursor& design, const JsonCursor& values,
                                    const Operator& op);

}  // namespace mgtune
