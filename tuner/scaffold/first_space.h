// What `mgtune new --from` guesses from names: which names are tunables and which are sizes, the
// values to try first, and which size an axis of the grid goes along. Pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mgtune {

// BLOCK_SIZE, tile_size_x, VEC, use_padding: a name for something to tune. Other names are sizes or
// constants of the problem.
bool sounds_tunable(const std::string& name);

// The parameter that is the number of threads of an axis ('x', 'y' or 'z'); "" if there is none.
// BLOCK_SIZE_X, or in a block of one axis BLOCK_SIZE or THREADS; in a square block TILE for both.
std::string block_parameter(const std::vector<std::string>& names, char axis, int axes);

// The parameter that is the number of elements per thread along an axis: tile_size_x, VEC; or "".
std::string work_parameter(const std::vector<std::string>& names, char axis);

struct FirstValues {
  std::vector<std::int64_t> values;  // ascending
  std::int64_t first = 1;            // the one that the default has
};
// `axes`: of the block. `known`: the value that the source gives it.
FirstValues first_values(const std::string& name, int axes, std::optional<std::int64_t> known);

// Whether the name is the size of a neighbourhood: filter_width, RADIUS.
bool is_neighbourhood(const std::string& name);

// The dim among `dims` whose name says that it goes along the axis: width, cols or nx along x,
// height or rows along y; "" if no name says so.
std::string dim_along(const std::vector<std::string>& dims, char axis);

}  // namespace mgtune
