// The operator files of tests/golden/operators, decoded or changed in place, for tests of the
// format.

#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "family/operator.h"
#include "family/source_tree.h"
#include "family/variant.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {

inline constexpr DeviceLimits kH200{90, 132, 232448, 62914560};
inline constexpr DeviceLimits kL4{89, 58, 101376, 50331648};
inline constexpr DeviceLimits kT4{75, 40, 65536, 4194304};

inline std::string golden_text(const std::string& full_name) {
  std::ifstream file(source_path("tests/golden/operators/") + full_name + ".json");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << full_name;
  return text.str();
}

inline Result<Operator> decode_text(const std::string& full_name, std::string text) {
  const std::size_t dot = full_name.find('.');
  const std::string family = full_name.substr(0, dot), name = full_name.substr(dot + 1);
  auto sources = std::make_shared<SourceTree>();
  sources->folder = "kernels/" + family;
  sources->files[name + ".json"] = std::move(text);
  return decode_operator(family, name, std::move(sources));
}

inline Operator golden_operator(const std::string& full_name) {
  Result<Operator> op = decode_text(full_name, golden_text(full_name));
  EXPECT_TRUE(op.ok()) << op.status().message();
  return std::move(op).value();
}

// `text` with the one occurrence of `from` replaced.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << "not in the text: " << from;
  if (place != std::string::npos) text.replace(place, from.size(), to);
  return text;
}

}  // namespace mgtune
