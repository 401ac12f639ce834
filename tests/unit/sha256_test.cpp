#include "core/sha256.h"

#include <gtest/gtest.h>

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

TEST(Sha256, FieldsKeepTheirBorders) {
  const std::string first = Sha256().update_field("ab").update_field("c").hex();
  const std::string second = Sha256().update_field("a").update_field("bc").hex();
  EXPECT_NE(first, second);
  EXPECT_NE(Sha256().update_field("").hex(), Sha256().hex());
}

}  // namespace
}  // namespace mgtune
