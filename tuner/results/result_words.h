// The words that choose among stored results: --kernel, --gpu, --problem and --method. The
// functions say what a word means, and refuse a word that names nothing with invalid_argument and a
// suggestion. An operator that exists but has no results yet is not refused. They keep no state.

#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/gpu_catalog.h"
#include "family/catalog.h"

namespace mgtune {

using Names = std::set<std::string>;

// Whether `kernel` ("rmsnorm", "rmsnorm.forward", a folder, or "" for all) means this operator.
bool means_operator(const std::string& kernel, const std::string& full_name);

// Whether `word` means this model: it is the model's name, or a name of it in configs/gpus.
bool means_gpu(const std::vector<GpuProduct>& products, const std::string& word,
               const std::string& model);

// OK if `kernel` means an operator with results, or one that mgtune knows. A family's folder that
// cannot be read is refused with the reason.
Status check_kernel(const std::string& kernel, const Names& recorded);

// OK if `word` means a model with results. If there are no results at all, it may also be a model
// that configs/gpus or this machine knows.
Status check_gpu(const std::string& word, const Names& recorded);

// "; did you mean 'H200'?", chosen from `names`, configs/gpus and cpu; "" if none is similar.
std::string gpu_suggestion(const std::string& word, const std::vector<GpuProduct>& products,
                           const Names& names);

// The names that problems of this operator may set; empty if the catalog does not have it.
Names problem_names(Catalog& catalog, const std::string& full_name);

// OK if every name in `words`, the assignments of --problem, is one of `names`.
Status check_problem(const std::map<std::string, std::string>& words, const Names& names);

// OK for a timing method that has results or that a sweep can use.
Status check_method(const std::string& method, const Names& recorded);

// "a, b, c".
std::string listed(const Names& names);

}  // namespace mgtune
