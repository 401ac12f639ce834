// The contents of the file that `mgtune pack` writes: tuned rows, and the builds that programs need
// to run them. Each GPU and each binding (static dims, dtypes, flags, optional tensors) of a row
// gets every variant that is tuned for the same dtypes and flags, because a plan of that binding
// may choose any of them, and the built-in defaults, which run if none of these can.

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

struct PackRequest {
  std::string kernel;    // a family, an operator or a folder
  std::string gpus;      // models with commas between them
  std::string database;  // "": the default one
  std::string table;     // a tuned table instead of the database, unless ""
};

// The rows that the request means, as the text of a tuned table. invalid_argument if one of the
// GPUs has none.
Result<std::string> tuned_text(const PackRequest& request, Catalog& catalog);

// Each build once, with a text that says in messages what it is for.
struct WantedBuild {
  BuildRequest request;
  std::string key;   // build_key() with an empty identity
  std::string text;  // "rmsnorm.forward hidden=4096 T=bf16: row VEC=8 ..."
};
Result<std::vector<WantedBuild>> wanted_builds(const std::vector<TunedTableRow>& rows,
                                               Catalog& catalog);

// Takes the builds from the user's cache or compiles them into it, on `threads` threads. A build
// that does not compile is left out and named in `failed`. If the machine lacks a compiler, all
// fails.
struct MadeBuilds {
  std::vector<PackedBuild> builds;
  std::int64_t compiled = 0;
  std::vector<std::string> failed;
};
Result<MadeBuilds> make_builds(const std::vector<WantedBuild>& wanted, std::size_t threads);

}  // namespace mgtune
