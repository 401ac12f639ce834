#include "tensors/array_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace mgtune {
namespace {

using testing::HasSubstr;

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// A .npy file of version 1.0 with this header.
std::string npy(const std::string& header, const std::string& elements) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xffU);
  text += static_cast<char>(header.size() >> 8U);
  return text + header + elements;
}

std::string safetensors(const std::string& header, const std::string& elements) {
  std::string text(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    text[i] = static_cast<char>((header.size() >> (8 * i)) & 0xffU);
  return text + header + elements;
}

constexpr char kMatrix[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n";

TEST(NpyTest, ReadsWhatNumpyWrites) {
  const std::string elements = floats({1, 2, 3, 4, 5, 6});
  const Result<ArrayFile> array = parse_npy(npy(kMatrix, elements));
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(array->dtype, DType::f32);
  EXPECT_EQ(array->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(array->elements, elements);
  EXPECT_EQ(array->count(), 6);
  const auto vector =
      parse_npy(npy("{'shape': (1,), 'descr': \"|i1\", 'fortran_order': False}", "\x05"));
  ASSERT_TRUE(vector.ok()) << vector.status().message();
  EXPECT_EQ(vector->dtype, DType::i8);
}

TEST(NpyTest, EveryDtypeAndShapeRoundTrips) {
  for (const DType dtype : kDTypes) {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{}, {3}, {2, 3}, {0, 5}, {1, 2, 3, 4}}) {
      std::int64_t bytes = size_in_bytes(dtype);
      for (const std::int64_t extent : shape) bytes *= extent;
      const ArrayFile array{dtype, shape, std::string(static_cast<std::size_t>(bytes), 'x')};
      const std::string text = npy_text(array);
      EXPECT_EQ((text.size() - array.elements.size()) % 64, 0U);
      const Result<ArrayFile> read = parse_npy(text);
      ASSERT_TRUE(read.ok()) << read.status().message();
      EXPECT_EQ(read->dtype, dtype);
      EXPECT_EQ(read->shape, shape);
      EXPECT_EQ(read->elements, array.elements);
    }
  }
}

TEST(NpyTest, RefusesWhatItCannotTrust) {
  const std::string six = floats({1, 2, 3, 4, 5, 6});
  const auto error = [](const std::string& text) { return parse_npy(text).status().message(); };
  const auto with = [&](const std::string& header) { return error(npy(header, six)); };
  const std::string malformed = "its header is malformed";
  EXPECT_EQ(error(""), "it is no .npy file");
  EXPECT_EQ(error("PK\x03\x04 a zip archive"), "it is no .npy file");
  EXPECT_EQ(error(npy(kMatrix, six).substr(0, 9)), "it is no .npy file");
  EXPECT_THAT(error(npy(kMatrix, six).substr(0, 30)), HasSubstr("its header claims 62 bytes"));
  EXPECT_THAT(error(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14)),
              HasSubstr("its header claims 4294967295 bytes"));
  EXPECT_EQ(error(std::string("\x93NUMPY\x09\x00\x02\x00{}", 12)),
            "it has version 9 of the .npy format");
  EXPECT_EQ(with(""), malformed);
  EXPECT_EQ(with("{"), malformed);
  EXPECT_EQ(with("{}"), malformed);
  EXPECT_EQ(with("{'descr': '<f4'"), malformed);
  EXPECT_EQ(with("{'descr' '<f4', 'fortran_order': False, 'shape': (2, 3)}"), malformed);
  EXPECT_EQ(with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}"), malformed);
  EXPECT_EQ(with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3"), malformed);
  EXPECT_EQ(with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 99999999999999999999)}"),
            malformed);
  EXPECT_EQ(with("{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}"), malformed);
  EXPECT_EQ(with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}"),
            "its elements are structures");
  EXPECT_THAT(with("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}"),
              HasSubstr("its elements have the type '>f4', and mgtune reads <f8 <f4"));
  EXPECT_THAT(with("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}"),
              HasSubstr("numpy.ascontiguousarray"));
  EXPECT_EQ(with("{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}"),
            "it has 24 bytes of elements, which is not what [7] of f32 needs");
  EXPECT_THAT(with("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"),
              HasSubstr("it has 24 bytes of elements"));
  EXPECT_THAT(
      with("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4, 0)}"),
      HasSubstr("it has 24 bytes of elements"));
}

// However a file is cut or changed, reading it ends with a message or with an array.
TEST(NpyTest, SurvivesEveryChangeOfAByte) {
  const std::string text = npy(kMatrix, floats({1, 2, 3, 4, 5, 6}));
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(parse_npy(text.substr(0, i)).ok()) << i;
    for (const char c : {'\0', '\xff', '\'', '(', '9'}) {
      std::string changed = text;
      changed[i] = c;
      const Result<ArrayFile> array = parse_npy(changed);
      EXPECT_TRUE(!array.ok() || array->elements.size() == 24) << i;
    }
  }
}

constexpr char kTwo[] = R"({"__metadata__": {"by": "a test"},
  "bias": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]},
  "weight": {"dtype": "F32", "shape": [2, 1], "data_offsets": [4, 12]}})";

TEST(SafetensorsTest, ReadsOneTensor) {
  const std::string text = safetensors(kTwo, "abcd" + floats({1, 2}));
  const Result<ArrayFile> weight = parse_safetensors(text, "weight");
  ASSERT_TRUE(weight.ok()) << weight.status().message();
  EXPECT_EQ(weight->dtype, DType::f32);
  EXPECT_EQ(weight->shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(weight->elements, floats({1, 2}));
  const Result<ArrayFile> bias = parse_safetensors(text, "bias");
  ASSERT_TRUE(bias.ok()) << bias.status().message();
  EXPECT_EQ(bias->dtype, DType::bf16);
  EXPECT_EQ(bias->elements, "abcd");
}

TEST(SafetensorsTest, RefusesWhatItCannotTrust) {
  const auto error = [](const std::string& entry) {
    return parse_safetensors(safetensors("{\"x\": " + entry + "}", "abcdefgh"), "x")
        .status()
        .message();
  };
  EXPECT_EQ(parse_safetensors("abc", "x").status().message(), "it is no .safetensors file");
  EXPECT_THAT(parse_safetensors(std::string(8, '\xff') + "{}", "x").status().message(),
              HasSubstr("its header claims 18446744073709551615 bytes"));
  EXPECT_FALSE(parse_safetensors(safetensors("[]", ""), "x").ok());
  EXPECT_FALSE(parse_safetensors(safetensors("{", ""), "x").ok());
  EXPECT_EQ(parse_safetensors(safetensors(kTwo, std::string(12, 'x')), "wieght").status().message(),
            "it has no tensor 'wieght'; it has bias, weight; did you mean 'weight'?");
  EXPECT_FALSE(parse_safetensors(safetensors(kTwo, ""), "__metadata__").ok());
  EXPECT_THAT(error(R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 16]})"),
              HasSubstr("its elements are at bytes 0 to 16 of 8"));
  EXPECT_THAT(error(R"({"dtype": "F32", "shape": [2], "data_offsets": [8, 0]})"),
              HasSubstr("its elements are at bytes 8 to 0 of 8"));
  EXPECT_THAT(error(R"({"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]})"),
              HasSubstr("its elements are at bytes -8 to 0 of 8"));
  EXPECT_THAT(error(R"({"dtype": "F32", "shape": [3], "data_offsets": [0, 8]})"),
              HasSubstr("it has 8 bytes of elements, which is not what [3] of f32 needs"));
  EXPECT_THAT(error(R"({"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]})"),
              HasSubstr("which is not what [-2] of f32 needs"));
  EXPECT_THAT(error(R"({"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]})"),
              HasSubstr("its elements have the type 'F8_E4M3'"));
  EXPECT_THAT(error(R"({"dtype": "F32", "shape": [2]})"), HasSubstr("data_offsets"));
}

TEST(ArrayFileTest, ElementsFitTheTensor) {
  TensorLayout layout;
  layout.name = "x";
  layout.shape = {2, 3};
  layout.count = 6;
  const ArrayFile array{DType::f32, {2, 3}, floats({1, 2.5, 3, 4, 5, 6})};
  layout.dtype = DType::f32;
  EXPECT_EQ(elements_for(array, layout)->size(), 24U);
  layout.dtype = DType::bf16;
  const Bytes rounded = elements_for(array, layout).value();
  EXPECT_EQ(rounded.size(), 12U);
  EXPECT_EQ(element_as_double(rounded.data(), 1, DType::bf16), 2.5);
  layout.dtype = DType::i32;
  EXPECT_EQ(elements_for(array, layout).status().message(), "its elements are f32, and x is i32");
  EXPECT_EQ(doubles_for(array, layout).value()[1], 2.5);
  layout.shape = {6};
  EXPECT_EQ(elements_for(array, layout).status().message(),
            "its shape is [2, 3], and x has the shape [6]");
}

}  // namespace
}  // namespace mgtune
