// InstalledTables: the tuned tables that are installed with the library. Their files are read and
// parsed at once; what they say of an operator is held against it when its rows are asked for, so
// that a program decodes the operators that it plans and not all that ship. What is wrong in a
// table is a failure to warn of, and the others serve. One thread at a time.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "family/operator.h"
#include "json/json_value.h"
#include "store/records.h"

namespace mgtune {

class InstalledTables {
 public:
  // The files, sorted: *.tuned.json in ../share/mgtune/results of the library's folder or of the
  // one above. Empty where there are none.
  static std::vector<std::string> files();

  // Takes a file in; its failure names it.
  Status add(const std::string& path);
  bool empty() const { return tables_.empty(); }

  struct Rows {
    std::vector<TunedView> rows;
    std::vector<std::string> failures;  // what is wrong with a table, each naming its file
  };
  // All rows of the operator; nothing when it was asked for before.
  Rows take(const Operator& op);

  // How many take() gave out for the operator.
  std::size_t taken(const std::string& op) const;

 private:
  struct Table {
    std::string path;
    JsonValue document;
  };
  std::vector<Table> tables_;
  std::map<std::string, std::size_t> taken_;  // rows by operator
};

}  // namespace mgtune
