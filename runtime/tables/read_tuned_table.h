// Reads the tuned table, our own format of results (README.md): a document that says which variant
// serves which problems of a GPU. Every name in it is held against the operators at hand. One
// thread per catalog.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "family/catalog.h"
#include "family/operator.h"
#include "json/json_cursor.h"
#include "store/records.h"

namespace mgtune {

// A row as the store's tuned view has it. Ids of the store are 0, but for tuned.gpu, which is equal
// for rows of equal GPUs of one document.
struct TunedTableRow {
  TunedView view;
  EnvironmentRecord environment;
  std::string measured_at;  // UTC
};

enum class UnknownOperators : std::uint8_t { refuse, skip };

// Whether this is a document of that kind, of whatever version.
bool is_tuned_table(const JsonCursor& root);

// invalid_argument with file and place; incompatible for a newer format.
Result<std::vector<TunedTableRow>> read_tuned_table(const JsonCursor& root, Catalog& catalog,
                                                    UnknownOperators unknown);

// The rows of one operator, and of the rest of the document no more than that it is a tuned table.
Result<std::vector<TunedTableRow>> read_tuned_rows(const JsonCursor& root, const Operator& op);

}  // namespace mgtune
