// A tuned table of strangers: refused, or rows that name what the operators offer.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/file_system.h"
#include "family/catalog.h"
#include "family/variant.h"
#include "json/json_cursor.h"
#include "json/json_value.h"
#include "tables/read_tuned_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace mgtune;
  static Catalog catalog(FileSystem::real());
  const Result<JsonValue> value =
      parse_json(std::string_view(reinterpret_cast<const char*>(data), bytes));
  if (!value.ok()) return 0;
  static const std::string file = "table.json";
  const Result<std::vector<TunedTableRow>> rows =
      read_tuned_table(JsonCursor(file, *value), catalog, UnknownOperators::skip);
  if (!rows.ok()) return 0;
  for (const TunedTableRow& row : *rows) {
    const Operator* op = *catalog.find_operator(row.view.op);
    if (!parse_variant(*op, row.view.tuned.variant).ok()) std::abort();
  }
  return 0;
}
