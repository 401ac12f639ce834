// Rows that stand for more than one value: joins of parents with their children, and the samples of
// a finalist. Private to store/. One thread.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/status.h"
#include "database/row.h"

namespace mgtune {

// The column samples_ns of a finalist.
std::vector<double> read_samples(Row& row);

// Reads a join of parents with their children, which `sql` orders by parent, and returns one view
// for each parent. The first column is a number that only rows of the same parent have in common.
// `read` reads the other columns into a view that has at most one child. `children` returns a
// pointer to the list of a view's children.
template <typename Read, typename Children, typename... Values>
auto read_groups(Database& database, const Read& read, const Children& children,
                 const std::string& sql, const Values&... values)
    -> Result<std::vector<std::invoke_result_t<Read, Row&>>> {
  const auto read_row = [&](Row& row) {
    const std::int64_t parent = row.integer();
    return std::pair(parent, read(row));
  };
  MGTUNE_ASSIGN(auto rows, read_all(database, read_row, sql, values...));
  std::vector<std::invoke_result_t<Read, Row&>> views;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& [parent, view] = rows[i];
    if (i == 0 || rows[i - 1].first != parent) {
      views.push_back(std::move(view));
    } else {
      std::ranges::move(*children(view), std::back_inserter(*children(views.back())));
    }
  }
  return views;
}

}  // namespace mgtune
