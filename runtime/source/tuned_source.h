// Where tuned rows come from: a results database, a tuned table or a pack. The content of the file
// decides which of them it is. The rows are checked against the known operators. Programs and the
// commands of mgtune both open their rows here, so they use the same rows.
//
// If the caller or MGTUNE_DB names a source, it is the only one, and an error in it is an error of
// opening it. Otherwise the user's database comes first, and then the tables that are installed
// with the library. The rows of these tables are added when an operator is asked for. Errors in the
// default sources cause warnings, and the rows concerned are left out. Rows that cannot be used
// with this build (selection/usable_rows.h) are left out too, with a warning. One thread per
// catalog, and per source while rows are added.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "build/build_supply.h"
#include "core/status.h"
#include "database/pick.h"
#include "database/pick_database.h"
#include "device/device.h"
#include "family/catalog.h"
#include "family/operator.h"
#include "launch/launch_dims.h"
#include "pack/pack.h"
#include "selection/evidence.h"
#include "selection/usable_rows.h"
#include "source/installed_tables.h"
#include "source/rule_files.h"
#include "tables/read_tuned_table.h"

namespace mgtune {

struct TunedSource {
  std::string text;                           // "results.db, 12 tuned problems", for mgr_explain
  std::vector<std::string> notes;             // warnings, and operators that are not known
  std::vector<TunedView> rows;                // tuned.gpu is equal for equal GPUs
  FailedVariants failed;                      // of a database
  std::shared_ptr<PickDatabase> database;     // of a database: where plans find the other rows
  bool is_named = false;                      // by the caller or MGTUNE_DB
  std::optional<Pack> pack;                   // of a pack, until add_builds() takes its builds
  std::shared_ptr<const BuildSupply> builds;  // of a pack that can be used here, otherwise null
  InstalledTables installed;                  // rows that are not among `rows` yet
  RuleFiles rules;                            // in the pack, beside the file, installed
  // A table or a pack does not say which variants are wrong, so the failures in the user's own
  // database count too. They are read when the first operator is asked for.
  bool is_table = false, has_user_failures = false;
  std::map<std::string, Picks> decoded;  // by operator; see decode_rows()
  // By operator, for those that were asked for. Rows that plans find in the database are not in it.
  std::map<std::string, std::shared_ptr<const Evidence>> evidence;
};

// The tuned table in a file, and the builds if it is a pack.
struct TableFile {
  std::vector<TunedTableRow> rows;
  std::optional<Pack> pack;
  std::vector<std::string> notes;  // the rows of operators that the catalog does not know
};
// nullopt if the file is neither a table nor a pack, and so a database. Failures as below.
Result<std::optional<TableFile>> read_table_file(const std::string& path, Catalog& catalog);

// The only source: `named`, otherwise the file that MGTUNE_DB names; "" if there is neither.
std::string only_source(const std::string& named);

// Reads one file. not_found, corrupt, incompatible or io, with the name of the file. With a device,
// it also adds the builds. Of a database it reads the rows without a key (PickKey) and the
// failures.
Result<TunedSource> read_tuned_source(const std::string& path, Catalog& catalog);
Result<TunedSource> read_tuned_source(const std::string& path, Catalog& catalog,
                                      const DeviceInfo& device);

// Opens the user's database and the installed tables. A database that does not exist counts as
// empty.
Result<TunedSource> open_default_sources(Catalog& catalog);

// Opens `named`, or the default sources if it is empty, and decodes the rows that were read from a
// database, so that no plan has to. A file that does not exist counts as empty.
Result<TunedSource> open_tuned_sources(const std::string& named, Catalog& catalog,
                                       const DeviceInfo& device);

// The variants that failed in the user's own database. Empty if there is no such database. If there
// is one that cannot be read, a sentence about that is added to `notes`.
std::vector<FailureView> user_failures(std::vector<std::string>& notes);

// What a plan needs to know: the rows of the source and of installed tables that may serve problems
// of the binding, the variants that failed, and rules. Rows that cannot be used here are left out.
// From a database it reads, by an index, the kMaxPicks rows that are nearest to the ranges. It
// reads the failures again if they have changed. All else is put together when the operator is
// first asked for; after that it is a look-up. The operator must outlive the evidence.
//
// corrupt if the database was named, and a row that was read has a value or a problem that the
// operator does not offer. io and corrupt if the database cannot be read any more.
Result<std::shared_ptr<const Evidence>> evidence_for(const Binding& binding,
                                                     const std::vector<DimRange>& ranges,
                                                     const GpuRecord& gpu, Catalog& catalog,
                                                     TunedSource& source);

// The GPUs for which the source, or an installed table, has rows or rules of the operator; each
// once.
Result<std::vector<GpuRecord>> gpus_with_evidence(const Operator& op, Catalog& catalog,
                                                  TunedSource& source);

// Adds the rows of `more` for GPUs and problems for which `rows` has none.
void add_rows(std::vector<TunedView> more, std::vector<TunedView>& rows);

// Adds the rows that the installed tables have for the operator, once.
void add_installed(const Operator& op, TunedSource& source);

// Lines for mgr_explain: where the tuned rows of the operator came from, and the warnings.
std::string source_lines(const TunedSource& source, const std::string& op);

}  // namespace mgtune
