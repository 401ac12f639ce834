#include "html/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "text/printable.h"
#include "text/units.h"

namespace mgtune {

namespace {

// `text` with every character of `special` replaced. The text between them is copied in one piece,
// because a report of 10,000 variants has about ten million characters.
template <typename Replacement>
std::string replace_each(std::string_view text, std::string_view special, Replacement replacement) {
  std::string result;
  result.reserve(text.size() + text.size() / 16);
  while (true) {
    const std::size_t at = text.find_first_of(special);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    result += replacement(text[at]);
    text.remove_prefix(at + 1);
  }
}

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    default:
      return "&#39;";
  }
}

// These characters end a line in a script, but not in JSON.
constexpr std::pair<std::string_view, std::string_view> kLineSeparators[] = {
    {"\xE2\x80\xA8", "\\u2028"}, {"\xE2\x80\xA9", "\\u2029"}};

std::string emulation_mark(const GpuRecord& gpu) {
  return gpu.emulation ? fmt::format(" {}", badge("emulation", "emulation")) : "";
}

}  // namespace

std::string escape(std::string_view text) {
  return replace_each(printable(text), "&<>\"'", entity);
}

std::string escape_json(std::string_view json) {
  // These characters occur in JSON only within strings, where an escape means the same.
  std::string escaped = replace_each(
      json, "<>&", [](char c) { return fmt::format("\\u{:04x}", static_cast<unsigned>(c)); });
  for (const auto& [separator, escape] : kLineSeparators) {
    for (std::size_t at = escaped.find(separator); at != std::string::npos;
         at = escaped.find(separator, at)) {
      escaped.replace(at, separator.size(), escape);
    }
  }
  return escaped;
}

std::string description(std::string_view term_text, std::string_view text) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(term_text), escape(text));
}

std::string code(std::string_view text) { return fmt::format("<code>{}</code>", escape(text)); }

std::string moment(std::string_view utc) { return fmt::format("<time>{}</time>", escape(utc)); }

std::string badge(std::string_view kind, std::string_view text) {
  return fmt::format("<span class=\"badge {}\">{}</span>", kind, escape(text));
}

std::string empty_part(std::string_view what) {
  return fmt::format("<p class=\"empty\">{} Fill this part with: {}</p>\n", escape(what),
                     code(kSweepCommand));
}

std::string device_name(const GpuRecord& gpu) { return escape(gpu.model) + emulation_mark(gpu); }

std::string time_cell(const GpuRecord& gpu, double time_ns) {
  return time_text(time_ns) + emulation_mark(gpu);
}

void HtmlTable::add_row(std::vector<std::string> html_cells) {
  assert(html_cells.size() == columns_.size());
  rows_.push_back(std::move(html_cells));
}

std::string HtmlTable::html() const {
  static constexpr std::string_view kNumber = " class=\"number\"";
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (std::ranges::any_of(rows_, [i](const auto& row) { return !row[i].empty(); })) {
      shown.push_back(i);
    }
  }
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\">\n<table>\n<caption>{}</caption>\n<thead><tr>",
      caption_html_);
  const auto attribute = [&](std::size_t i) {
    return columns_[i].align == Align::right ? kNumber : std::string_view();
  };
  for (const std::size_t i : shown) {
    html += fmt::format("<th scope=\"col\"{}>{}</th>", attribute(i), escape(columns_[i].title));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows_) {
    html += "<tr>";
    for (const std::size_t i : shown) {
      const bool is_header = i == shown.front();
      html += is_header ? "<th scope=\"row\"" : "<td";
      html.append(attribute(i)).append(">").append(row[i]);
      html += is_header ? "</th>" : "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n";
}

}  // namespace mgtune
