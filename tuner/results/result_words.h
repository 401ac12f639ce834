// ResultFilter: the words after --kernel, --gpu, --problem and --method, which select stored
// results. The functions find out which results a word means. They refuse a word that names
// nothing, with invalid_argument and a suggestion. An operator that exists but has no results yet
// is not refused. The functions keep no state.

#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/gpu_catalog.h"
#include "exchange/collect_results.h"
#include "family/catalog.h"
#include "store/store.h"

namespace mgtune {

using Names = std::set<std::string>;

// The words as the user typed them. An empty word selects everything.
struct ResultFilter {
  std::string kernel;   // a family, an operator, or the folder of a family
  std::string gpu;      // a product's name or alias ("H200"), the driver's name for it, or "cpu"
  std::string problem;  // "rows=4096,T=bf16": the problems with these values
  std::string method;   // of timing
};

// The names that occur in stored results.
struct RecordedNames {
  Names operators;                             // full names
  Names models;                                // of GPUs
  Names methods;                               // of timing
  std::map<std::string, Names> problem_names;  // by operator: the names that its problems set
};
RecordedNames names_of(const std::vector<TunedView>& tuned,
                       const std::vector<OutcomeView>& outcomes);

// Whether `kernel` ("rmsnorm", "rmsnorm.forward", a folder, an operator's file, or "" for all)
// means this operator.
bool means_operator(const std::string& kernel, const std::string& full_name);

// Whether `word` means this model: it is the model's name, or a name that configs/gpus has for the
// model.
bool means_gpu(const std::vector<GpuProduct>& products, const std::string& word,
               const std::string& model);

// The conditions of --kernel and --gpu. A kernel must have results, or mgtune must know it; a
// family whose folder cannot be read is refused with the reason. A GPU must have results. If there
// are no results at all, it may also be one that configs/gpus or this machine knows. The filter
// must outlive the selection, which refers to it.
Result<Selection> select_kernel_and_gpu(const ResultFilter& filter, const RecordedNames& recorded);

// The conditions of the whole filter, for `mgtune export`. If `kernel` is a folder, its operators
// are added to the catalog. The filter must outlive the selection, which refers to it. not_found if
// the store has no results of the kernel.
Result<Selection> select_results(const ResultFilter& filter, Store& store, Catalog& catalog);

// The failure if no result was selected: not_found, with the reason. This is a failure, because
// otherwise the next program in a shell pipe would take an empty export for results.
Status nothing_to_export(const std::string& reason);

// "; did you mean 'H200'?", chosen from `names` and their products' names in configs/gpus, or from
// all products if `names` is empty. "" if none is similar, or if `word` is the name of another
// product, because it is not misspelt then.
std::string gpu_suggestion(const std::string& word, const std::vector<GpuProduct>& products,
                           const Names& names);

// The names that problems of this operator may set; empty if the catalog does not have it.
Names problem_names(Catalog& catalog, const std::string& full_name);

// OK if every name in `words`, the assignments of --problem, is one of `names`.
Status check_problem(const std::map<std::string, std::string>& words, const Names& names);

// "a, b, c".
std::string listed(const Names& names);

}  // namespace mgtune
