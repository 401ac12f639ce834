// The pieces of HTML that all sections use. Arguments named `html` are markup already. Arguments
// named `text` come from outside and are escaped here. Pure.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/records.h"

namespace mgtune {

// For content and quoted attributes; control characters and invalid UTF-8 become visible.
std::string escape(std::string_view text);

// JSON that cannot end the script element around it: '<', '>', '&', U+2028 and U+2029 are written
// as \u003c and so on.
std::string escape_json(std::string_view json);

// An entry of a description list.
std::string description(std::string_view term_text, std::string_view text);

std::string code(std::string_view text);   // <code>text</code>
std::string moment(std::string_view utc);  // <time>utc</time>
std::string badge(std::string_view kind,
                  std::string_view text);  // a word set off by color and border

// "No picks yet. Fill this part with: mgtune sweep ..."
std::string empty_part(std::string_view what);

// The name of a GPU, and a time on it. Both have the badge if they are of the cpu device.
std::string device_name(const GpuRecord& gpu);
std::string time_cell(const GpuRecord& gpu, double time_ns);

// A table with a caption, column headers and the first cell of each row as its header. A column
// whose cells are all empty is left out.
class HtmlTable {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string_view title;
    Align align = Align::left;
  };

  HtmlTable(std::string caption_html, std::vector<Column> columns)
      : caption_html_(std::move(caption_html)), columns_(std::move(columns)) {}

  void add_row(std::vector<std::string> html_cells);  // one per column
  std::string html() const;

 private:
  std::string caption_html_;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace mgtune
