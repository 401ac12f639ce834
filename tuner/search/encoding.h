// MixedEncoding: turns the variants of all designs of a VariantSet into points of one space, so
// that a model can compute how similar two variants are.
//
// There is one coordinate for each parameter name. Designs that use the same name share the
// coordinate. The values of an ordered parameter are spread evenly over [0, 1] in ascending order,
// no matter how far apart the numbers are, because people choose the values of a list (1, 2, 4, 8
// or 32, 64, 96) so that each step matters about the same. Identifiers are either equal or
// different, and so are designs. If a design does not have a parameter, its variants are far from
// all values of this parameter.
//
// If whole numbers are not all powers of two, as in 16, 32, 48, ..., 256, the parameter has a
// second coordinate: how often two divides the number. A block of 48 threads may have more in
// common with one of 80 than with one of 64, because neither divides the rows of an image.
// Immutable; threads may share it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "family/variant.h"
#include "space/variant_set.h"

namespace mgtune {

// Defines the distance of two values of a coordinate, before a model gives the coordinates weights.
// It is 0 for equal values, otherwise step + slope * min(difference, 1)^2.
struct Coordinate {
  std::string name;
  float step = 0, slope = 0;
};

using EncodedPoint = std::vector<float>;  // one per coordinate

class MixedEncoding {
 public:
  explicit MixedEncoding(const VariantSet& set);

  const std::vector<Coordinate>& coordinates() const { return coordinates_; }
  EncodedPoint encode(const Variant& variant) const;

 private:
  struct Value {
    std::int64_t value;
    float coordinate, twos;  // twos: the second coordinate
  };
  struct Parameter {
    std::optional<std::size_t> coordinate, twos;  // places in coordinates_
    std::vector<Value> values;                    // ascending
  };

  std::vector<Coordinate> coordinates_;
  std::vector<std::vector<Parameter>> designs_;
  bool has_design_coordinate_ = false;  // whether coordinate 0 is the design
};

// A list of points, stored coordinate by coordinate. So the distances from one point to all others
// are computed in a few long loops.
class PointTable {
 public:
  explicit PointTable(std::size_t coordinates) : columns_(coordinates) {}

  std::size_t size() const { return size_; }
  void add(const EncodedPoint& point);
  EncodedPoint row(std::size_t index) const;
  std::span<const float> column(std::size_t coordinate) const { return columns_[coordinate]; }

 private:
  std::vector<std::vector<float>> columns_;
  std::size_t size_ = 0;
};

}  // namespace mgtune
