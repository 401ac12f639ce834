#include "scaffold/dynamic_shared.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "scaffold/kernel_signature.h"

namespace mgtune {
namespace {

// The declaration whose "extern" is at `first`; nullopt if it does not declare dynamic shared
// memory.
std::optional<DynamicShared> dynamic_shared_at(const CudaSource& source, std::size_t first) {
  if (!source.is(first, "extern") || !source.is(first + 1, "__shared__")) return std::nullopt;
  std::size_t at = first + 2;
  if (source.is(at, "__align__") || source.is(at, "alignas")) at = source.after_bracket(at + 1);
  DynamicShared found;
  for (; source.is_word(at); ++at) {
    if (!found.name.empty()) found.type += (found.type.empty() ? "" : " ") + found.name;
    found.name = source.tokens[at].text;
  }
  if (found.type.empty() || !source.is(at, "[") || !source.is(at + 1, "]")) return std::nullopt;
  if (!source.is(at + 2, ";")) return std::nullopt;
  found.line = source.tokens[first].line;
  found.begin = source.tokens[first].offset;
  found.end = source.tokens[at + 2].offset + 1;
  return found;
}

}  // namespace

std::string DynamicShared::replacement() const {
  return fmt::format("{0}* {1} = mg::dynamic_shared<{0}>();", type, name);
}

std::vector<DynamicShared> find_dynamic_shared(const CudaSource& source) {
  std::vector<DynamicShared> all;
  for (const KernelPlace& kernel : find_kernels(source)) {
    for (std::size_t i = kernel.body; i < kernel.end; ++i) {
      std::optional<DynamicShared> found = dynamic_shared_at(source, i);
      if (found) all.push_back(*std::move(found));
    }
  }
  return all;
}

}  // namespace mgtune
