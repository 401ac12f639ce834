// Tables and text for Markdown as GitHub reads it. Pure.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mgtune {

// Text on one line that Markdown, and HTML within it, treats only as text.
std::string markdown_plain(std::string_view text);

class MarkdownTable {
 public:
  explicit MarkdownTable(const std::vector<std::string>& titles);

  void add(const std::vector<std::string>& cells);

  const std::string& text() const { return text_; }  // ends with a newline

 private:
  std::string text_;
};

}  // namespace mgtune
