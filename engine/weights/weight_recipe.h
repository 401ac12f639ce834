// WeightRecipe: how a weight buffer of a program is made from the tensors of a model. Plain data.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mgtune::engine {

struct WeightPart {
  std::string tensor;                // its name, without a prefix such as "model."
  std::vector<std::uint64_t> shape;  // that it must have in the file
  bool transposed = false;           // the file has [in, out], and the buffer [out, in]
};

struct WeightRecipe {
  enum class Kind : std::uint8_t { parts, rotary_table };
  Kind kind = Kind::parts;
  std::string buffer;             // its name
  std::vector<WeightPart> parts;  // one after the other in the buffer
};

}  // namespace mgtune::engine
