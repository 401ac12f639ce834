// What the words that choose among results (--kernel, --gpu, --problem, --method) mean, and what is
// said of one that names nothing: invalid_argument with a suggestion. What exists and has no
// results yet is no mistake of --kernel. The functions keep no state.

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

// Whether --kernel `kernel` ("rmsnorm", "rmsnorm.forward", a folder, "" for all) means this
// operator.
bool means_operator(const std::string& kernel, const std::string& full_name);

// Whether --gpu `word` means this model: its name, or a word of configs/gpus that means it.
bool means_gpu(const std::vector<GpuProduct>& products, const std::string& word,
               const std::string& model);

// OK where `kernel` means one of the operators that have results, or one that mgtune knows without
// any. A family's folder that cannot be read is refused with what is wrong in it.
Status check_kernel(const std::string& kernel, const Names& recorded);

// OK where `word` means one of the models that have results; where nothing has any, one that
// configs/gpus or this machine knows.
Status check_gpu(const std::string& word, const Names& recorded);

// "; did you mean 'H200'?" among `names`, all that configs/gpus knows and cpu; "" where none is
// near.
std::string gpu_suggestion(const std::string& word, const std::vector<GpuProduct>& products,
                           const Names& names);

// The names that problems of this operator may give values to; none of one the catalog has not.
Names problem_names(Catalog& catalog, const std::string& full_name);

// `words` are those of --problem; OK where each is one of `names`.
Status check_problem(const std::map<std::string, std::string>& words, const Names& names);

// OK for a method that has results or that sweeps can time by.
Status check_method(const std::string& method, const Names& recorded);

// "a, b, c".
std::string listed(const Names& names);

}  // namespace mgtune
