// Reads a tuned table, mgtune's own format of results (README.md): a document that says which
// variant to run for which problem on a GPU. Every operator, problem and variant in it is checked
// against the operators of the catalog. One thread per catalog.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "database/pick.h"
#include "family/catalog.h"
#include "family/operator.h"
#include "json/json_cursor.h"
#include "json/json_value.h"

namespace mgtune {

// A row in the form of Store::tuned(). Its row ids are 0, except for tuned.gpu, which numbers the
// GPUs of the document: rows of the same GPU have the same number.
struct TunedTableRow {
  TunedView view;
  EnvironmentRecord environment;
  std::string measured_at;  // UTC
};

// Numbers the GPUs of the rows anew, so that rows of the same GPU have the same number.
void number_gpus(std::vector<TunedTableRow>& rows);

enum class UnknownOperators : std::uint8_t { refuse, skip };

// Whether the document is a tuned table, of any version.
bool is_tuned_table(const JsonCursor& root);

// Fails with invalid_argument, with file and place, or with incompatible for a newer format.
Result<std::vector<TunedTableRow>> read_tuned_table(const JsonCursor& root, Catalog& catalog,
                                                    UnknownOperators unknown);

// One sentence, without a full stop, per operator of the document that the catalog does not know:
// "FILE: 2 tuned problems of rmsnorm.gone are left out, because this mgtune does not know the
// operator". Empty if the document is no tuned table.
std::vector<std::string> unknown_operator_sentences(const std::string& file,
                                                    const JsonValue& document, Catalog& catalog);

// Reads the rows of one operator. Of the rest of the document it only checks that it is a tuned
// table.
Result<std::vector<TunedTableRow>> read_tuned_rows(const JsonCursor& root, const Operator& op);

}  // namespace mgtune
