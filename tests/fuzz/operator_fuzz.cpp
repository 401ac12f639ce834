// An operator file from a stranger: it is refused with a place, or it gives an operator whose
// ladder can be bound. It may extend the files of rmsnorm.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "family/operator.h"
#include "family/source_tree.h"
#include "family/variant.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace mgtune;
  static const SourceTree shipped = embedded_source_tree("kernels/rmsnorm");
  auto sources = std::make_shared<SourceTree>(shipped);
  sources->files["fuzzed.json"] = std::string(reinterpret_cast<const char*>(data), bytes);
  const Result<Operator> op = decode_operator("rmsnorm", "fuzzed", std::move(sources));
  if (!op.ok()) return 0;
  // Dims, dtypes and flags are 0, which all have: what "when" then says does not matter here.
  const Binding binding{&*op, Slots(op->scope.size(), 0)};
  for (const Variant& variant : default_ladder(binding, {90, 132, 232448, 60 << 20})) {
    static_cast<void>(variant_text(*op, variant));
  }
  return 0;
}
