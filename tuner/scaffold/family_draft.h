// FamilyDraft: what `mgtune new --from` has read or guessed of a kernel, before it is written as
// files. Plain data. It cannot be copied, because tensors point into it.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "json/json.h"
#include "scaffold/kernel_signature.h"

namespace mgtune {

struct DraftTensor {
  const KernelParameter* parameter;  // of the draft's signature or constants
  const char* role;                  // "in", "out", "inout"
  std::vector<std::string> shape = {};
};

struct DraftParameter {
  std::string name;
  Json values = {};
  Json first = {};  // the value of the default
  std::int64_t largest = 1;
};

struct FamilyDraft {
  FamilyDraft() = default;
  FamilyDraft(const FamilyDraft&) = delete;
  FamilyDraft& operator=(const FamilyDraft&) = delete;

  // The dims that say how large the problem is: the dynamic dims, or the static dims if there are
  // no dynamic ones.
  const std::vector<std::string>& sizes() const { return dims.empty() ? static_dims : dims; }

  KernelSignature signature;
  std::vector<ConstantArray> constants;
  std::string source_name;  // of the copy of the kernel: "add.cu"
  std::vector<std::string> dims, static_dims;
  std::map<std::string, std::optional<std::int64_t>> static_values;  // as in the source
  std::vector<std::string> type_variables, template_arguments;
  Json dtypes = Json::object(), scalars = Json::object(), defines = Json::object();
  Json constant_memory = Json::object();  // tensor -> variable
  std::vector<DraftParameter> params;
  std::vector<DraftTensor> tensors;
  std::vector<std::string> grid, block, constraints;
  std::string shared_bytes;  // an expression; "" without dynamic shared memory
};

}  // namespace mgtune
