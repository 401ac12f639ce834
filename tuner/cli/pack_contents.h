// What `mgtune pack` puts into a file: the tuned rows that its words mean, and the builds that
// programs need to run them. For each GPU and each binding (static dims, dtypes, flags, optional
// tensors) of a row: every variant that is tuned for the same dtypes and flags, since a plan of
// that binding may choose any of them, and the defaults that run where none of them does.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "core/status.h"
#include "exchange/results.h"
#include "family/catalog.h"
#include "pack/pack.h"
#include "tables/read_tuned_table.h"

namespace mgtune {

struct PackWords {
  std::string kernel;    // a family, an operator or a folder
  std::string gpus;      // models with commas between them
  std::string database;  // "": the default one
  std::string table;     // a tuned table instead of the database, unless ""
};

// The rows that are meant, as a tuned table's text. invalid_argument where one of the GPUs has
// none.
Result<std::string> tuned_text(const PackWords& words, Catalog& catalog);

// Each build once, with what it is for in the words of messages.
struct WantedBuild {
  BuildRequest request;
  std::string key;   // build_key() with an empty identity
  std::string text;  // "rmsnorm.forward hidden=4096 T=bf16: row VEC=8 ..."
};
Result<std::vector<WantedBuild>> wanted_builds(const std::vector<TunedTableRow>& rows,
                                               Catalog& catalog);

// By `threads` threads, from the user's cache or compiled into it. A build that does not compile is
// left out and said in `failed`; what the machine lacks is a failure.
struct MadeBuilds {
  std::vector<PackedBuild> builds;
  std::int64_t compiled = 0;
  std::vector<std::string> failed;
};
Result<MadeBuilds> make_builds(const std::vector<WantedBuild>& wanted, std::size_t threads);

}  // namespace mgtune
