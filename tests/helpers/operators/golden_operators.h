// The operator files of tests/golden/operators, decoded or changed in place, for tests of the
// format.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "family/operator.h"
#include "family/source_tree.h"
#include "family/variant.h"
#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/replaced.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {

inline std::string golden_text(const std::string& full_name) {
  std::string text = file_content(source_path("tests/golden/operators/") + full_name + ".json");
  EXPECT_FALSE(text.empty()) << full_name;
  return text;
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

// The operator file with a part replaced, decoded.
inline Result<Operator> decode_replaced(const std::string& full_name, const std::string& from,
                                        const std::string& to) {
  return decode_text(full_name, replaced(golden_text(full_name), from, to));
}

}  // namespace mgtune
