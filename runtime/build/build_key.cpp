#include <set>
#include <string>
#include <string_view>

#include "build/cache_entry.h"
#include "build/source_closure.h"
#include "compiler/compiler.h"
#include "core/sha256.h"

namespace mgtune {
namespace {

// Increase this when the content of a key changes, and when the format of the cache's entries
// changes. Entries of another format then have other names, and no version reads what another one
// wrote.
constexpr std::string_view kKeyFormat = "mgtune build key 1";

constexpr std::string_view number_of(std::string_view format) {
  return format.substr(format.rfind(' '));
}
static_assert(number_of(kKeyFormat) == number_of(kCacheEntryFormat));

}  // namespace

std::string build_key(const BuildRequest& request, const std::string& compiler_identity) {
  Sha256 hash;
  hash.update_field(kKeyFormat);
  hash.update_field(compiler_identity);
  hash.update_field(request.arch);
  hash.update_field(request.source);
  std::set<std::string_view> kernels;
  for (const std::string& kernel : request.kernels) {
    if (kernels.insert(kernel).second) hash.update_field(kernel);
  }
  // A request without macros, variables and options has none of these fields, so that its key is
  // the one of earlier versions.
  for (const MacroDefinition& macro : request.macros) {
    hash.update_field("#define " + macro.name + " " + macro.text);
  }
  for (const std::string& variable : request.variables) hash.update_field("&" + variable);
  for (const std::string& option : request.options) hash.update_field(option);
  hash.update_field("files");
  hash.update(source_closure(*request.sources, request.source).fields);
  return hash.hex();
}

}  // namespace mgtune
