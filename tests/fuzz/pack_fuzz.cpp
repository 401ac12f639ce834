// A pack of strangers. Behind a checksum nothing would be reached, so the input is what follows it:
// the file is tried as it is, and sealed as the fields of a pack.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/sha256.h"
#include "pack/pack.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace mgtune;
  const std::string_view input(reinterpret_cast<const char*>(data), bytes);
  static_cast<void>(decode_pack(input));
  const Result<Pack> pack = decode_pack(seal_pack(input).value());
  if (!pack.ok()) return 0;
  for (const PackedBuild& packed : pack->builds) {
    if (sha256_hex(packed.build.binary) != packed.build.sha256) std::abort();
  }
  return 0;
}
