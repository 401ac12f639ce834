// Where a context's tuned rows come from: a results database, a tuned table or a pack. The content
// of the file decides which of them it is. The rows are checked against the known operators.
//
// If the program or MGTUNE_DB names a source, it is the only one, and an error in it is an error of
// opening it. Otherwise the user's database comes first, and then the tables that are installed
// with the library, whose rows are added when an operator is planned. Errors in those cause
// warnings, and their rows are left out. One thread per catalog, and per source while rows are
// added.

#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "build/build_supply.h"
#include "core/status.h"
#include "device/device.h"
#include "family/catalog.h"
#include "family/operator.h"
#include "json/json_value.h"
#include "store/views.h"

namespace mgtune {

// The tuned tables that are installed with the library. Their files are read and
// parsed at once. The rows of an operator are checked against it when they are asked for, so that a
// program decodes only the operators that it plans. A table with an error is left out with a
// message, and the others are used. One thread at a time.
class InstalledTables {
 public:
  // The files, sorted: *.tuned.json in ../share/mgtune/results of the library's folder or of the
  // folder above it. Empty if there are none.
  static std::vector<std::string> files();

  // Reads and parses a file. A failure names the file.
  Status add(const std::string& path);
  bool empty() const { return tables_.empty(); }

  struct Rows {
    std::vector<TunedView> rows;
    std::vector<std::string> failures;  // what is wrong with a table, with the name of its file
  };
  // All rows of the operator. Empty if they were loaded before.
  Rows load(const Operator& op);

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

struct TunedSource {
  std::string text;                           // "results.db, 12 tuned problems", for mgr_explain
  std::vector<std::string> notes;             // the warnings
  std::vector<TunedView> rows;                // tuned.gpu is equal for equal GPUs
  MeasuredRows measured;                      // of a database: the results of all variants
  std::shared_ptr<const BuildSupply> builds;  // of a pack that can be used here, otherwise null
  InstalledTables installed;                  // rows that are not among `rows` yet
};

// Reads one file. not_found, corrupt, incompatible or io, with the name of the file.
Result<TunedSource> read_tuned_source(const std::string& path, Catalog& catalog,
                                      const DeviceInfo& device);

// Opens `named`, or the default sources if it is empty. A file that does not exist counts as empty.
Result<TunedSource> open_tuned_sources(const std::string& named, Catalog& catalog,
                                       const DeviceInfo& device);

// Adds the rows of `more` for GPUs and problems for which `rows` has none.
void add_rows(std::vector<TunedView> more, std::vector<TunedView>& rows);

// Adds the rows that the installed tables have for the operator, once.
void add_installed(const Operator& op, TunedSource& source);

// Lines for mgr_explain: where the tuned rows of the operator came from, and the warnings.
std::string source_lines(const TunedSource& source, const std::string& op);

}  // namespace mgtune
