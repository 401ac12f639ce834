#include "core/sha256.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace mgtune {
namespace {

TEST(Sha256, VectorsOfFips180) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      sha256_hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklm"
                 "nopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

TEST(Sha256, MillionTimesTheLetterA) {
  Sha256 hash;
  const std::string thousand(1000, 'a');
  for (int i = 0; i < 1000; ++i) hash.update(thousand);
  EXPECT_EQ(hash.hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheSameAsTheWhole) {
  // Lengths around the padding's edge (55, 56) and the block's (63, 64, 65).
  for (const std::size_t length : {0u, 1u, 55u, 56u, 57u, 63u, 64u, 65u, 119u, 120u, 128u, 1000u}) {
    std::string data;
    for (std::size_t i = 0; i < length; ++i) data += static_cast<char>(i * 37);
    Sha256 hash;
    for (std::size_t at = 0, piece = 1; at < length; at += piece, piece = piece * 3 % 67 + 1) {
      hash.update(std::string_view(data).substr(at, piece));
    }
    EXPECT_EQ(hash.hex(), sha256_hex(data)) << length;
  }
}

TEST(Sha256, TheProcessorsInstructionsAgreeWithThePortableCode) {
  const Sha256Blocks native = native_sha256_blocks();
  if (native == nullptr) GTEST_SKIP() << "this processor has none";
  std::minstd_rand random(1);
  for (std::size_t count = 0; count < 200; ++count) {
    std::vector<unsigned char> blocks(64 * count + 1);
    for (unsigned char& byte : blocks) byte = static_cast<unsigned char>(random() >> 8);
    Sha256State expected;
    for (std::uint32_t& word : expected) word = static_cast<std::uint32_t>(random() * 3);
    Sha256State state = expected;
    portable_sha256_blocks(expected, blocks.data() + 1, count);  // not aligned
    native(state, blocks.data() + 1, count);
    ASSERT_EQ(state, expected) << count << " blocks";
  }
}

TEST(Sha256, ThePortableCodeIsRight) {
  // "abc", padded, from the initial state.
  Sha256State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const std::array<unsigned char, 64> block = [] {
    std::array<unsigned char, 64> padded{'a', 'b', 'c', 0x80};
    padded[63] = 24;
    return padded;
  }();
  portable_sha256_blocks(state, block.data(), 1);
  EXPECT_EQ(state, (Sha256State{0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3,
                                0x96177a9c, 0xb410ff61, 0xf20015ad}));
}

TEST(Sha256, FieldsKeepTheirBorders) {
  const std::string first = Sha256().update_field("ab").update_field("c").hex();
  const std::string second = Sha256().update_field("a").update_field("bc").hex();
  EXPECT_NE(first, second);
  EXPECT_NE(Sha256().update_field("").hex(), Sha256().hex());
}

}  // namespace
}  // namespace mgtune
