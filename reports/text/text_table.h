// TextTable: aligned columns for a terminal. A column is left out if all its cells are empty. The
// last column is not padded, so put long texts there. Cells pass through printable_line().

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mgtune {

class TextTable {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add_row(std::vector<std::string> cells);  // one per column

  // Two spaces between columns, `indent` in front of each line, a newline after each.
  std::string text(std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace mgtune
