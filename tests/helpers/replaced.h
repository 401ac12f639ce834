// Text, and files, with a part replaced. Header-only.

#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace mgtune {

inline std::string file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// `text` with the first occurrence of `from` replaced. A test fails if there is none.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << "not in the text: " << from;
  if (place != std::string::npos) text.replace(place, from.size(), to);
  return text;
}

inline void replace_in_file(const std::string& path, const std::string& from,
                            const std::string& to) {
  const std::string text = replaced(file_content(path), from, to);
  std::ofstream(path) << text;
}

}  // namespace mgtune
