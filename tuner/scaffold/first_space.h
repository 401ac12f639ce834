// Guesses from names, for `mgtune new --from`: which names are tuning parameters and which are
// sizes, which values to try first, and which size belongs to an axis of the grid. Pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mgtune {

// Whether the name sounds like a tuning parameter: BLOCK_SIZE, tile_size_x, VEC, use_padding. Other
// names are sizes or constants of the problem.
bool sounds_tunable(const std::string& name);

// The parameter that is the number of threads along an axis ('x', 'y' or 'z'), for example
// BLOCK_SIZE_X. In a block with one axis it may be BLOCK_SIZE or THREADS; in a square block, TILE
// serves both axes. "" if there is none.
std::string block_parameter(const std::vector<std::string>& names, char axis, int axes);

// The parameter that is the number of elements per thread along an axis, for example tile_size_x or
// VEC. "" if there is none.
std::string work_parameter(const std::vector<std::string>& names, char axis);

struct FirstValues {
  std::vector<std::int64_t> values;  // ascending
  std::int64_t first = 1;            // the value in the default variant
};
// `axes`: the number of axes of the block. `known`: the value that the source gives the parameter.
FirstValues first_values(const std::string& name, int axes, std::optional<std::int64_t> known);

// Whether the name is the size of a neighbourhood: filter_width, RADIUS.
bool is_neighbourhood(const std::string& name);

// The dim whose name suggests that it belongs to this axis: width, cols or nx for x, height or rows
// for y. "" if there is no such name.
std::string dim_along(const std::vector<std::string>& dims, char axis);

}  // namespace mgtune
