// MixedEncoding: the variants of all designs of a VariantSet as points of one space of numbers, in
// which a model can say how alike two of them are.
//
// One coordinate per parameter name; designs that name a parameter alike share it. The values of an
// ordered parameter are spread evenly over [0, 1] in ascending order: lists are written so that
// neighbours in them are worth telling apart, be they powers of two or multiples of 32.
// Identifiers, and which design it is, are only alike or not. A variant is far from any value of a
// parameter that its design does not have. Immutable once made; threads may share it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "family/variant.h"
#include "space/variant_set.h"

namespace mgtune {

// How far apart two values of a coordinate are, before a model weighs the coordinates:
// 0 for equal ones, else step + slope * (difference, at most 1)^2.
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
    float coordinate;
  };
  struct Parameter {
    std::size_t coordinate;
    std::vector<Value> values;  // ascending
  };

  std::vector<Coordinate> coordinates_;
  std::vector<std::vector<Parameter>> designs_;
  bool has_design_coordinate_ = false;  // the first
};

// Points by coordinate, so that one point's distances to all others are a few long loops.
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
