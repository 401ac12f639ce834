// The contents of the file that `mgtune pack` writes: tuned rows, rules, and the builds that
// programs need to run them. A binding is the static dims, dtypes, flags and optional tensors of a
// tuned row. For each GPU and each binding, the pack has the builds of the variants that are tuned
// for it on this GPU and of the variants that rules name, because a plan for the binding may choose
// any of them. It also has the builds of the defaults that a plan with any shapes could load in
// addition.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "core/status.h"
#include "family/catalog.h"
#include "pack/pack.h"
#include "tables/read_tuned_table.h"

namespace mgtune {

struct PackRequest {
  std::string kernel;    // a family, an operator or a folder
  std::string gpus;      // models with commas between them
  std::string database;  // or a tuned table or a pack; "": the default sources
  std::string table;     // a file with a tuned table, read instead of the database; "": none
};

struct TunedText {
  std::string text;
  std::vector<std::string> notes;  // sentences: where the rows come from, and which are left out
};

// The usable tuned rows of the request's kernel and GPUs, as the text of a tuned table.
// invalid_argument if one of the GPUs has no row; the message says which rows were left out.
Result<TunedText> tuned_text(const PackRequest& request, Catalog& catalog);

// The rules that programs would follow on the GPUs of the rows if they open the source that the
// request names. For each operator, only rules of exactly this GPU count.
Result<std::vector<PackedRules>> packed_rules(const PackRequest& request,
                                              const std::vector<TunedTableRow>& rows,
                                              Catalog& catalog);

// A build that the pack needs. wanted_builds() returns each build once.
struct WantedBuild {
  BuildRequest request;
  std::string key;   // build_key() with an empty identity
  std::string text;  // for messages: "rmsnorm.forward hidden=4096 T=bf16: row VEC=8 ..."
};
Result<std::vector<WantedBuild>> wanted_builds(const std::vector<TunedTableRow>& rows,
                                               const std::vector<PackedRules>& rules,
                                               Catalog& catalog);

// Takes the builds from the user's build cache. Those that are missing there are compiled, on
// `threads` threads, and added to the cache. A build that does not compile is left out, and
// `failed` names it. If the machine is at fault, for example because it has no compiler, the result
// is that failure.
struct MadeBuilds {
  std::vector<PackedBuild> builds;
  std::int64_t compiled = 0;
  std::vector<std::string> failed;
};
Result<MadeBuilds> make_builds(const std::vector<WantedBuild>& wanted, std::size_t threads);

}  // namespace mgtune
