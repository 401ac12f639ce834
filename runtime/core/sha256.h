// SHA-256 (FIPS 180-4). The keys and identities of builds, sources and problems are SHA-256 hashes
// in lower-case hex. Only one thread may use a Sha256 object. sha256_hex() is a pure function.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mgtune {

using Sha256State = std::array<std::uint32_t, 8>;
using Sha256Blocks = void (*)(Sha256State& state, const unsigned char* blocks, std::size_t count);

// The compression function over whole blocks of 64 bytes.
void portable_sha256_blocks(Sha256State& state, const unsigned char* blocks, std::size_t count);

// The same with the processor's own instructions, which is about five times as fast. Null if the
// processor does not have them.
Sha256Blocks native_sha256_blocks();

// Takes data in pieces. hex() may be called once.
class Sha256 {
 public:
  Sha256();
  Sha256& update(std::string_view data);

  // Like update(), but puts the length first, so that ("ab", "c") and ("a", "bc") differ.
  Sha256& update_field(std::string_view data);

  std::string hex();  // 64 characters

 private:
  Sha256State state_;
  std::array<unsigned char, 64> pending_{};
  std::uint64_t total_bytes_ = 0;
};

std::string sha256_hex(std::string_view data);

// Appends what update_field(data) hashes, so that update() can hash many fields at once.
void append_hash_field(std::string& fields, std::string_view data);

}  // namespace mgtune
