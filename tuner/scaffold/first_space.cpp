#include "scaffold/first_space.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>

namespace mgtune {
namespace {

// "BLOCK_SIZE_X" and "kBlockSizeX" as "blocksizex".
std::string plain(const std::string& name) {
  std::string text;
  const bool prefixed =
      name.size() > 1 && name[0] == 'k' && std::isupper(static_cast<unsigned char>(name[1])) != 0;
  for (std::size_t i = prefixed ? 1 : 0; i < name.size(); ++i) {
    if (name[i] != '_')
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return text;
}

bool has_any(const std::string& text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

bool is_any(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

bool is_switch(const std::string& text) {
  return text.starts_with("use") || text.starts_with("enable") || text.starts_with("with");
}

bool is_block(const std::string& text) {
  return is_any(text, {"blocksize", "block", "blockdim", "threads", "nthreads", "numthreads", "bs",
                       "threadsperblock", "tpb", "blockthreads", "nt", "groupsize", "blocksz"});
}

bool is_square(const std::string& text) {
  return is_any(
      text, {"tile", "tilesize", "tiledim", "tilewidth", "blocksize", "block", "blockdim", "bs"});
}

bool is_block_along(const std::string& text, char axis) {
  if (text.empty() || text.back() != axis) return false;
  return is_any(text.substr(0, text.size() - 1),
                {"blocksize", "block", "blockdim", "threads", "b", "bs", "tpb", "nt", "block_dim"});
}

std::string find(const std::vector<std::string>& names, const auto& fits) {
  for (const std::string& name : names) {
    if (fits(plain(name))) return name;
  }
  return "";
}

}  // namespace

bool sounds_tunable(const std::string& name) {
  const std::string text = plain(name);
  return is_block(text) || is_switch(text) ||
         has_any(text, {"block", "thread", "tile", "vec", "unroll", "warp", "stage", "chunk", "tpb",
                        "padding", "coarsen", "tuning", "workper", "itemsper"});
}

std::string block_parameter(const std::vector<std::string>& names, char axis, int axes) {
  std::string along = find(names, [&](const std::string& n) { return is_block_along(n, axis); });
  if (!along.empty()) return along;
  if (axes == 1) return find(names, is_block);
  return find(names, is_square);
}

std::string work_parameter(const std::vector<std::string>& names, char axis) {
  return find(names, [&](const std::string& n) {
    const bool along = !n.empty() && n.back() == axis &&
                       has_any(n, {"tilesize", "perthread", "workper", "work", "coarsen"});
    return along ||
           (axis == 'x' && is_any(n, {"vec", "vecsize", "elementsperthread", "itemsperthread",
                                      "workperthread", "perthread", "tilesize"}));
  });
}

FirstValues first_values(const std::string& name, int axes, std::optional<std::int64_t> known) {
  const std::string text = plain(name);
  FirstValues first{{1, 2, 4}, 1};
  if (is_switch(text) || has_any(text, {"padding"}) || known == 0) {
    first = {{0, 1}, 0};
  } else if (is_block_along(text, 'y')) {
    first = {{2, 4, 8}, 4};
  } else if (is_block_along(text, 'z')) {
    first = {{1, 2, 4}, 1};
  } else if (is_block_along(text, 'x') && axes > 1) {
    first = {{16, 32, 64}, 32};
  } else if (axes > 1 && is_square(text)) {
    first = {{8, 16, 32}, 16};
  } else if (is_block(text) || is_block_along(text, 'x')) {
    first = {{64, 128, 256}, 128};
  } else if (known && *known > 4) {
    first.values = {*known / 2, *known, *known * 2};
  }
  if (!known) return first;
  first.first = *known;
  if (std::ranges::find(first.values, *known) == first.values.end()) first.values.push_back(*known);
  std::ranges::sort(first.values);
  return first;
}

bool is_neighbourhood(const std::string& name) {
  return has_any(plain(name), {"filter", "radius"});
}

std::string dim_along(const std::vector<std::string>& dims, char axis) {
  return find(dims, [axis](const std::string& n) {
    if (is_neighbourhood(n)) return false;
    if (axis == 'x') {
      return has_any(n, {"width", "col"}) || is_any(n, {"w", "nx", "sizex", "dimx", "hidden", "n"});
    }
    if (axis == 'y') {
      return has_any(n, {"height", "row"}) || is_any(n, {"h", "ny", "sizey", "dimy", "m"});
    }
    return has_any(n, {"depth", "batch"}) || is_any(n, {"d", "nz", "sizez", "dimz"});
  });
}

}  // namespace mgtune
