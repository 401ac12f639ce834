// An operator's file of strangers: refused with a place, or an operator whose ladder can be bound.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "family/operator.h"
#include "family/source_tree.h"
#include "family/variant.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace mgtune;
  auto sources = std::make_shared<SourceTree>();
  sources->folder = "fuzzed";
  sources->files["forward.json"] = std::string(reinterpret_cast<const char*>(data), bytes);
  for (const char* file : {"forward.cu", "backward.cu", "reference.cu"}) sources->files[file] = "";
  const Result<Operator> op = decode_operator("fuzzed", "forward", std::move(sources));
  if (!op.ok()) return 0;
  // Dims, dtypes and flags are 0, which all have: what "when" then says does not matter here.
  const Binding binding{&*op, Slots(op->scope.size(), 0)};
  for (const Variant& variant : default_ladder(binding, {90, 132, 232448, 60 << 20})) {
    static_cast<void>(variant_text(*op, variant));
  }
  return 0;
}
