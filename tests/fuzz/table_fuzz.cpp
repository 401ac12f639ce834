// A tuned table of strangers: refused, or rows that name what the operators offer, the same ones
// when it is read for each operator.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string_view>

#include "family/catalog.h"
#include "family/variant.h"
#include "json/json_cursor.h"
#include "json/json_value.h"
#include "system/file_system.h"
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
  if (!rows.ok()) {
    // What is wrong may be another operator's.
    static_cast<void>(
        read_tuned_rows(JsonCursor(file, *value), **catalog.find_operator("rmsnorm.forward")));
    return 0;
  }
  std::map<const Operator*, std::size_t> counts;
  for (const TunedTableRow& row : *rows) {
    const Operator* op = *catalog.find_operator(row.view.op);
    if (!parse_variant(*op, row.view.tuned.variant).ok()) std::abort();
    ++counts[op];
  }
  for (const auto& [op, count] : counts) {
    const Result<std::vector<TunedTableRow>> of_op = read_tuned_rows(JsonCursor(file, *value), *op);
    if (!of_op.ok() || of_op->size() != count) std::abort();
  }
  return 0;
}
