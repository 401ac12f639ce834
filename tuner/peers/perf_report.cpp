// The data frame of a plot of triton.testing.perf_report() as pandas writes it: a list of rows
// (orient="records"), or an object of columns (pandas' default).
//
//   [{"rows": 4096, "hidden": 4096, "torch.compile (ms)": 0.0527, "liger (ms)": 0.061}]
//
// A column whose name is a name of the operator's problems has values of the problem. Each other
// column has the times of an implementation; "NAME-min" and "NAME-max" have their spread. If the
// plot's ylabel is a unit of time, the unit stands in brackets behind the name; otherwise --unit
// gives it. The operator is not in the file, so --operator gives it.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "family/problem.h"
#include "peers/peer_forms.h"

namespace mgtune {
namespace {

bool is_frame_row(const JsonValue& row) {
  return row.kind == JsonValue::Kind::object && !row.items.empty() &&
         std::ranges::all_of(row.items, [](const JsonValue& value) {
           return value.kind != JsonValue::Kind::object && value.kind != JsonValue::Kind::array;
         });
}

// A column of times: "liger-min (ms)" is the "min" of "liger", in ms.
struct FrameColumn {
  std::string peer, part;  // the part is "", "min" or "max"
  std::string unit;
};

Result<FrameColumn> parse_column(const JsonCursor& place, const std::string& title,
                                 const std::string& unit) {
  FrameColumn column{title, "", unit};
  if (title.ends_with(')')) {
    const std::size_t open = title.rfind(" (");
    if (open != std::string::npos) {
      column.unit = title.substr(open + 2, title.size() - open - 3);
      column.peer = title.substr(0, open);
      if (nanoseconds(1, column.unit) == 0) {
        return place.error(fmt::format(
            "the column '{}' is in {}, which is no unit of time: expected ns, us, ms or s", title,
            column.unit));
      }
    }
  }
  for (const std::string_view part : {"min", "max"}) {
    const std::string ending = fmt::format("-{}", part);
    if (!column.peer.ends_with(ending)) continue;
    column.peer.resize(column.peer.size() - ending.size());
    column.part = part;
  }
  return column;
}

// The cells of a row, each with the title of its column.
using FrameRow = std::vector<std::pair<std::string, JsonCursor>>;

Result<std::vector<FrameRow>> frame_rows(const JsonCursor& root) {
  std::vector<FrameRow> rows;
  if (root.value().kind == JsonValue::Kind::array) {
    MGTUNE_ASSIGN(const std::vector<JsonCursor> all, root.elements());
    for (const JsonCursor& row : all) {
      MGTUNE_ASSIGN(const std::vector<JsonCursor> cells, row.members());
      rows.emplace_back();
      for (const JsonCursor& cell : cells) rows.back().emplace_back(cell.key(), cell);
    }
    return rows;
  }
  MGTUNE_ASSIGN(const std::vector<JsonCursor> columns, root.members());
  std::map<std::string, std::size_t> places;
  for (const JsonCursor& column : columns) {
    MGTUNE_ASSIGN(const std::vector<JsonCursor> cells, column.members());
    for (const JsonCursor& cell : cells) {
      const auto [place, is_new] = places.try_emplace(cell.key(), rows.size());
      if (is_new) rows.emplace_back();
      rows[place->second].emplace_back(column.key(), cell);
    }
  }
  return rows;
}

// pandas writes the whole numbers of a column of mixed types as 4096.0.
Result<std::string> problem_word(const JsonCursor& cell) {
  const double number = cell.value().number;
  if (cell.value().kind != JsonValue::Kind::number || number != std::floor(number) ||
      std::abs(number) > 1e15) {
    return cell.word();
  }
  return std::to_string(static_cast<std::int64_t>(number));
}

// A time of the row and its spread.
struct FrameTime {
  std::optional<JsonCursor> place;  // of the time; none if the row has only a spread
  double time_ns = 0, low_ns = 0, high_ns = 0;
};

Status read_cell(const JsonCursor& cell, const FrameColumn& column, FrameTime& time,
                 PeerReader& reader) {
  if (cell.value().kind == JsonValue::Kind::null) return {};  // not timed
  MGTUNE_ASSIGN(const double value, cell.number());
  if (column.unit.empty()) {
    return reader.lacks(
        cell, "the unit is not known: --unit ms says it if the plot has the times of do_bench()");
  }
  double& part = column.part == "min"   ? time.low_ns
                 : column.part == "max" ? time.high_ns
                                        : time.time_ns;
  part = nanoseconds(value, column.unit);
  if (column.part.empty()) time.place = cell;
  return {};
}

Status read_frame_row(const FrameRow& row, const std::vector<std::string>& problem_names,
                      PeerReader& reader) {
  ProblemValues problem;
  std::map<std::string, FrameTime> times;  // by implementation
  for (const auto& [title, cell] : row) {
    if (title == "dtype" || std::ranges::find(problem_names, title) != problem_names.end()) {
      MGTUNE_ASSIGN(problem[title], problem_word(cell));
      continue;
    }
    MGTUNE_ASSIGN(const FrameColumn column, parse_column(cell, title, reader.words().unit));
    MGTUNE_TRY(read_cell(cell, column, times[column.peer], reader));
  }
  for (const auto& [name, found] : times) {
    if (!found.place) {
      reader.leave_out("without a time");
      continue;
    }
    PeerTime time;
    time.problem = problem;
    time.peer.name = name;
    time.peer.median_ns = found.time_ns;
    time.peer.low_ns = found.low_ns;
    time.peer.high_ns = found.high_ns;
    time.usual_method = "do_bench";
    MGTUNE_TRY(reader.add(*found.place, std::move(time)));
  }
  return {};
}

}  // namespace

bool is_perf_report(const JsonCursor& root) {
  const JsonValue& value = root.value();
  const bool is_list = value.kind == JsonValue::Kind::array;
  const bool is_object = value.kind == JsonValue::Kind::object;
  return (is_list || is_object) && !value.items.empty() &&
         std::ranges::all_of(value.items, is_frame_row);
}

Status read_perf_report(const JsonCursor& root, PeerReader& reader) {
  if (reader.words().op.empty()) {
    return reader.lacks(root,
                        "the operator is not known: --operator NAME says it, for example "
                        "--operator rmsnorm.forward");
  }
  const Result<const Operator*> op = reader.catalog().find_operator(reader.words().op);
  if (!op.ok()) return reader.lacks(root, op.status().message());
  const std::vector<std::string> names = problem_words(**op);
  MGTUNE_ASSIGN(const std::vector<FrameRow> rows, frame_rows(root));
  for (const FrameRow& row : rows) MGTUNE_TRY(read_frame_row(row, names, reader));
  return {};
}

}  // namespace mgtune
