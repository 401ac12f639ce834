// Where a context's tuned rows come from: a results database, a tuned table or a pack, told apart
// by content, behind one function. What a source names is held against the operators at hand.
//
// A source that was named, by the program or by MGTUNE_DB, is the only one, and what is wrong with
// it is an error. Where none was, the user's database comes first and then the tables that are
// installed with the library, which are looked into as operators are planned; what is wrong in
// those is left out and warned of. One thread per catalog, and per source while rows are added.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/installed_tables.h"
#include "build/build_supply.h"
#include "core/status.h"
#include "device/device.h"
#include "family/catalog.h"
#include "family/operator.h"
#include "store/records.h"

namespace mgtune {

struct TunedSource {
  std::string text;                           // "results.db, 12 tuned problems", for mgr_explain
  std::vector<std::string> notes;             // what was warned of
  std::vector<TunedView> rows;                // tuned.gpu is equal for equal GPUs
  MeasuredRows measured;                      // of a database: how the other variants did
  std::shared_ptr<const BuildSupply> builds;  // of a pack that can be used here, else null
  InstalledTables installed;                  // rows that are not among `rows` yet
};

// One file. not_found where there is none; corrupt, incompatible or io, naming it.
Result<TunedSource> read_tuned_source(const std::string& path, Catalog& catalog,
                                      const DeviceInfo& device);

// `named` or what stands for it where it is empty. A file that does not exist is as an empty one.
Result<TunedSource> open_tuned_sources(const std::string& named, Catalog& catalog,
                                       const DeviceInfo& device);

// Adds the rows of `more` for GPUs and problems that `rows` has none for.
void add_rows(std::vector<TunedView> more, std::vector<TunedView>& rows);

// Adds what the installed tables have of the operator, once.
void add_installed(const Operator& op, TunedSource& source);

// Lines for mgr_explain: where the tuned rows of the operator came from, and what was warned of.
std::string source_lines(const TunedSource& source, const std::string& op);

}  // namespace mgtune
