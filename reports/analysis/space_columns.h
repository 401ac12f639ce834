// SpaceColumns: the designs and parameter values of one problem's variants as columns, for charts
// and statistics. Pure.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/report_model.h"

namespace mgtune {

// A parameter of any design. Designs that use the same name share a column.
struct ParameterColumn {
  std::string name;
  std::vector<std::string> values;  // those that occur, in natural order
  std::vector<std::int32_t> index;  // one per variant, into values; -1: its design does not have it
};

// Designs with the same name and different parameters (of an operator that was edited) are two
// designs.
struct DesignColumns {
  std::string name;
  std::vector<std::size_t> parameters;  // in the order of the variant's text
};

struct SpaceColumns {
  std::vector<DesignColumns> designs;
  std::vector<ParameterColumn> parameters;
  std::vector<std::int32_t> design;  // one per variant
};

SpaceColumns space_columns(std::span<const ReportVariant> variants);

}  // namespace mgtune
