#include "check/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/dtype.h"

namespace mgtune {
namespace {

constexpr double kElementFactor = 16;

struct Element {
  std::int64_t number = -1;  // in row-major order
  double value = 0, reference = 0;
};

struct Differences {
  DifferenceSums sums;
  Element first_nonfinite;
  Element worst;  // by absolute difference
};

double root_mean_square(const DifferenceSums& sums) {
  return sums.compared == 0
             ? 0
             : std::sqrt(sums.squared_reference / static_cast<double>(sums.compared));
}

// Which rows are compared; empty if all of them are.
std::vector<bool> sampled_rows(const TensorLayout& layout, std::int64_t sample_rows) {
  const std::int64_t rows = layout.shape.empty() ? 1 : layout.shape.front();
  std::vector<bool> sampled;
  if (sample_rows <= 0 || sample_rows >= rows) return sampled;
  sampled.resize(static_cast<std::size_t>(rows));
  const std::int64_t intervals = std::max<std::int64_t>(sample_rows - 1, 1);
  for (std::int64_t i = 0; i < sample_rows; ++i) {
    sampled[static_cast<std::size_t>(i * (rows - 1) / intervals)] = true;
  }
  return sampled;
}

template <typename Visit>
void for_each_compared(const TensorLayout& layout, const Bytes& output,
                       std::span<const double> reference, const std::vector<bool>& rows,
                       Visit visit) {
  if (layout.count == 0) return;
  const std::int64_t row_elements =
      rows.empty() ? 1 : layout.count / static_cast<std::int64_t>(rows.size());
  for_each_element(layout, [&](std::int64_t element, std::int64_t offset) {
    if (!rows.empty() && !rows[static_cast<std::size_t>(element / row_elements)]) return;
    visit(Element{element, element_as_double(output.data(), offset, layout.dtype),
                  reference[static_cast<std::size_t>(element)]});
  });
}

void add(Differences& found, const Element& element) {
  DifferenceSums& sums = found.sums;
  if (!std::isfinite(element.value) || !std::isfinite(element.reference)) {
    const bool same = element.value == element.reference ||
                      (std::isnan(element.value) && std::isnan(element.reference));
    if (!same && sums.finiteness++ == 0) found.first_nonfinite = element;
    return;
  }
  const double difference = element.value - element.reference;
  sums.squared_difference += difference * difference;
  sums.squared_reference += element.reference * element.reference;
  ++sums.compared;
  if (found.worst.number < 0 || std::fabs(difference) > sums.worst) {
    found.worst = element;
    sums.worst = std::fabs(difference);
  }
}

Differences differences(const TensorLayout& layout, const Bytes& output,
                        std::span<const double> reference, const std::vector<bool>& rows) {
  Differences found;
  for_each_compared(layout, output, reference, rows,
                    [&](const Element& element) { add(found, element); });
  return found;
}

std::string number(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.7g}", value);  // no "-nan"
}

std::string values(const TensorLayout& layout, const Element& element) {
  return fmt::format("{} is {}, the reference says {}", element_name(layout, element.number),
                     number(element.value), number(element.reference));
}

OutputComparison not_finite(const TensorLayout& layout, const Differences& found) {
  std::string message = values(layout, found.first_nonfinite);
  const DifferenceSums& sums = found.sums;
  if (sums.finiteness > 1) {
    message += fmt::format("; {} of {} elements differ in being finite", sums.finiteness,
                           sums.finiteness + sums.compared);
  }
  if (std::isnan(found.first_nonfinite.value)) message += " (outputs start out as nan)";
  return {std::numeric_limits<double>::infinity(), std::move(message)};
}

}  // namespace

double DifferenceSums::relative_error() const {
  if (finiteness > 0) return std::numeric_limits<double>::infinity();
  if (squared_difference == 0) return 0;
  return std::sqrt(squared_difference / squared_reference);  // x / 0 is infinity
}

// The bound of an element is smallest where the reference is at most the root mean square, so this
// smallest bound is compared with the largest difference.
bool DifferenceSums::surely_within(double tolerance) const {
  return relative_error() <= tolerance &&
         worst <= kElementFactor * tolerance * root_mean_square(*this);
}

OutputComparison compare_by_largest_difference(const TensorLayout& layout, const Bytes& output,
                                               std::span<const double> reference, double bound,
                                               std::int64_t sample_rows) {
  const Differences found =
      differences(layout, output, reference, sampled_rows(layout, sample_rows));
  if (found.sums.finiteness > 0) return not_finite(layout, found);
  OutputComparison comparison{found.sums.worst, ""};
  if (found.sums.worst > bound) {
    comparison.message = fmt::format(
        "{}; the largest difference {:.3g} is above {:.3g}, twice what the same "
        "mathematics in low precision is off by",
        values(layout, found.worst), found.sums.worst, bound);
  }
  return comparison;
}

OutputComparison compare_with_reference(const TensorLayout& layout, const Bytes& output,
                                        std::span<const double> reference, double tolerance,
                                        std::int64_t sample_rows) {
  const std::vector<bool> rows = sampled_rows(layout, sample_rows);
  const Differences found = differences(layout, output, reference, rows);
  if (found.sums.finiteness > 0) return not_finite(layout, found);
  OutputComparison comparison{found.sums.relative_error(), ""};
  if (comparison.error <= tolerance && found.sums.surely_within(tolerance)) return comparison;
  const double rms = root_mean_square(found.sums);
  Element first;
  double bound_of_first = 0;
  std::int64_t wrong = 0;
  for_each_compared(layout, output, reference, rows, [&](const Element& element) {
    const double bound = kElementFactor * tolerance * std::max(std::fabs(element.reference), rms);
    const bool is_off =
        std::isfinite(element.value) && std::fabs(element.value - element.reference) > bound;
    if (!is_off || wrong++ > 0) return;
    first = element;
    bound_of_first = bound;
  });
  if (comparison.error > tolerance) {
    comparison.message = fmt::format("{}; relative L2 error {:.3g} is above {:.3g}",
                                     values(layout, found.worst), comparison.error, tolerance);
    if (wrong > 1 || (wrong == 1 && first.number != found.worst.number)) {
      comparison.message +=
          fmt::format("; of {} wrong elements the first: {}", wrong, values(layout, first));
    }
  } else if (wrong > 0) {
    comparison.message =
        fmt::format("{}; one element may be off by {:.3g}", values(layout, first), bound_of_first);
  }
  return comparison;
}

OutputReport describe_output(const TensorLayout& layout, const Bytes& output,
                             std::span<const double> reference, const OutputComparison& comparison,
                             double tolerance, bool by_largest_difference,
                             std::int64_t sample_rows) {
  OutputReport report;
  report.tensor = layout.name;
  report.error = comparison.error;
  report.tolerance = tolerance;
  report.message = comparison.message;
  const std::vector<bool> rows = sampled_rows(layout, sample_rows);
  const Differences found = differences(layout, output, reference, rows);
  report.compared = found.sums.compared + found.sums.finiteness;
  if (comparison.message.empty()) return report;
  const double rms = root_mean_square(found.sums);
  Element first;
  for_each_compared(layout, output, reference, rows, [&](const Element& element) {
    const bool is_nan = std::isnan(element.value) && std::isnan(element.reference);
    if (is_nan || element.value == element.reference) return;
    const double scale = by_largest_difference ? 1 : std::max(std::fabs(element.reference), rms);
    // A difference that is not a number is not within the tolerance.
    if (std::fabs(element.value - element.reference) <= tolerance * scale) return;
    if (report.wrong++ == 0) first = element;
  });
  if (report.wrong == 0 && found.worst.number >= 0) {
    report.wrong = 1;
    first = found.worst;
  }
  if (first.number >= 0) report.first = element_name(layout, first.number);
  report.expected = first.reference;
  report.got = first.value;
  return report;
}

std::string first_difference(const TensorLayout& layout, const Bytes& a, const Bytes& b) {
  const auto size = static_cast<std::size_t>(size_in_bytes(layout.dtype));
  std::string first;
  if (a == b) return first;
  for_each_element(layout, [&](std::int64_t element, std::int64_t offset) {
    const std::size_t place = static_cast<std::size_t>(offset) * size;
    if (first.empty() && std::memcmp(&a[place], &b[place], size) != 0) {
      first = element_name(layout, element);
    }
  });
  return first;
}

}  // namespace mgtune
