// InstalledTables: the tuned tables that are installed with the library. Their files are read and
// parsed at once. The rows of an operator are checked against it when they are asked for, so that a
// program decodes only the operators that it plans. A table with an error is left out with a
// message, and the others are used. One thread at a time.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/status.h"
#include "database/pick.h"
#include "family/catalog.h"
#include "family/operator.h"
#include "json/json_value.h"
#include "tables/read_tuned_table.h"

namespace mgtune {

class InstalledTables {
 public:
  // The files, sorted: *.tuned.json in ../share/mgtune/results of the library's folder or of the
  // folder above it. Empty if there are none.
  static std::vector<std::string> files();
  // That folder; "" if there is none.
  static std::string folder();

  // Reads and parses a file. A failure names the file.
  Status add(const std::string& path);
  bool empty() const { return tables_.empty(); }

  struct Rows {
    std::vector<TunedView> rows;
    std::vector<std::string> failures;  // what is wrong with a table, with the name of its file
  };
  // All rows of the operator. Empty if they were loaded before.
  Rows load(const Operator& op);

  struct AllRows {
    std::vector<TunedTableRow> rows;    // tuned.gpu is equal for equal GPUs
    std::vector<std::string> failures;  // as in Rows, and the operators that are not known
  };
  // The rows of all operators that the catalog knows, for a caller that shows or packs them.
  AllRows load_all(Catalog& catalog) const;

  // How many rows load() returned for the operator.
  std::size_t loaded(const std::string& op) const;

 private:
  struct Table {
    std::string path;
    JsonValue document;
  };
  std::vector<Table> tables_;
  std::map<std::string, std::size_t> loaded_;  // rows by operator
};

}  // namespace mgtune
