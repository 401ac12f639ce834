#include "text/text_table.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "text/printable.h"

namespace mgtune {
namespace {

void append_cell(std::string& line, const std::string& cell, std::size_t width,
                 TextTable::Align align) {
  const std::string padding(width - display_width(cell), ' ');
  line += align == TextTable::Align::right ? padding + cell : cell + padding;
}

}  // namespace

void TextTable::add_row(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = printable_line(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(std::size_t indent) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    if (widths[i] > 0) widths[i] = std::max(widths[i], display_width(titles[i]));
  }

  std::string result;
  const auto append_row = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (widths[i] == 0) continue;
      line += line.empty() ? std::string(indent, ' ') : "  ";
      append_cell(line, cells[i], widths[i], columns_[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  };
  append_row(titles);
  for (const auto& row : rows_) append_row(row);
  return result;
}

}  // namespace mgtune
