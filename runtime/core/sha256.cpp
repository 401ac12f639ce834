#include "core/sha256.h"

#include <algorithm>
#include <cstring>

namespace mgtune {
namespace {

Sha256Blocks fastest() {
  const Sha256Blocks native = native_sha256_blocks();
  return native != nullptr ? native : &portable_sha256_blocks;
}

void compress(Sha256State& state, const unsigned char* blocks, std::size_t count) {
  static const Sha256Blocks blocks_of = fastest();
  blocks_of(state, blocks, count);
}

}  // namespace

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

Sha256& Sha256::update(std::string_view data) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
  std::size_t left = data.size();
  while (left > 0) {
    const std::size_t filled = total_bytes_ % 64;
    const std::size_t whole = filled == 0 ? left / 64 * 64 : 0;
    const std::size_t take = whole > 0 ? whole : std::min(left, 64 - filled);
    if (whole > 0) {
      compress(state_, bytes, whole / 64);
    } else {
      std::memcpy(pending_.data() + filled, bytes, take);
    }
    total_bytes_ += take;
    bytes += take;
    left -= take;
    if (whole == 0 && total_bytes_ % 64 == 0) compress(state_, pending_.data(), 1);
  }
  return *this;
}

Sha256& Sha256::update_field(std::string_view data) {
  return update(std::to_string(data.size())).update(":").update(data);
}

std::string Sha256::hex() {
  const std::uint64_t bits = total_bytes_ * 8;
  update(std::string_view("\x80", 1));
  while (total_bytes_ % 64 != 56) update(std::string_view("\0", 1));
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i));
  update(length);

  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[(word >> shift) & 0xf];
  }
  return text;
}

std::string sha256_hex(std::string_view data) { return Sha256().update(data).hex(); }

}  // namespace mgtune
