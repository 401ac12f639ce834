#include "tensors/seeded_inputs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "check/compare.h"
#include "tensors/output_fill.h"

namespace mgtune {
namespace {

bool is_compared(const TensorLayout& layout) { return layout.present && layout.is_output(); }
bool is_present_input(const TensorLayout& layout) { return layout.present && !layout.is_output(); }

void keep_worst(double error, double allowed, CheckRecord& record) {
  const bool is_first = record.error == 0 && record.tolerance == 0;
  if (!is_first && error * record.tolerance <= record.error * allowed) return;
  record.error = error;
  record.tolerance = allowed;
}

}  // namespace

bool is_by_baseline(const Problem& problem) {
  return problem.op->check.measure == Measure::twice_low_precision;
}

Result<SeededInputs> SeededInputs::make(const Context& context, const Reference& reference,
                                        std::uint64_t seed, Placement placement) {
  const std::vector<TensorLayout>& layouts = context.layouts;
  MGTUNE_ASSIGN(ProblemTensors tensors,
                ProblemTensors::allocate(context.device, layouts, placement));
  SeededInputs inputs(context, placement, std::move(tensors));
  MGTUNE_TRY(reference.fill(inputs.tensors_, seed));
  MGTUNE_TRY(fill_from_outputs(context.device, context.builder, context.problem, layouts,
                               reference.scalars(), seed, inputs.tensors_));
  MGTUNE_ASSIGN(inputs.reference_, reference.compute(inputs.tensors_));
  if (is_by_baseline(context.problem)) MGTUNE_TRY(inputs.add_bounds(reference));
  if (context.device_compare == nullptr) {
    MGTUNE_TRY(inputs.read_expected());
    return inputs;
  }
  inputs.fingerprints_.resize(layouts.size());
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    if (!is_present_input(layouts[i])) continue;
    MGTUNE_ASSIGN(inputs.fingerprints_[i], context.device_compare->fingerprint(
                                               inputs.tensors_.pointers()[i], layouts[i].bytes()));
  }
  return inputs;
}

// Twice the error of the baseline, and the slack of the output's dtype. If only the baseline is not
// finite, that says nothing about variants.
Status SeededInputs::add_bounds(const Reference& reference) {
  MGTUNE_ASSIGN(const std::vector<Buffer> baseline, reference.compute_baseline(tensors_));
  const Check& check = context_.problem.op->check;
  largest_difference_.resize(context_.layouts.size());
  for (std::size_t i = 0; i < context_.layouts.size(); ++i) {
    const TensorLayout& layout = context_.layouts[i];
    if (!is_compared(layout)) continue;
    MGTUNE_ASSIGN(const double worst, worst_of_baseline(i, baseline[i]));
    const auto slack = check.slack.find(layout.dtype);
    largest_difference_[i] = 2 * worst + (slack == check.slack.end() ? 0 : slack->second);
  }
  return {};
}

Result<double> SeededInputs::worst_of_baseline(std::size_t tensor, const Buffer& baseline) const {
  const TensorLayout& layout = context_.layouts[tensor];
  if (context_.device_compare != nullptr) {
    TensorLayout doubles = layout;
    doubles.dtype = DType::f64;
    MGTUNE_ASSIGN(
        const DifferenceSums sums,
        context_.device_compare->compare(doubles, baseline.data(), reference_[tensor].data(),
                                         context_.problem.op->check.sample_rows));
    return sums.worst;
  }
  MGTUNE_ASSIGN(const auto low, read_doubles(context_.device, baseline, layout.count));
  MGTUNE_ASSIGN(const auto exact, read_doubles(context_.device, reference_[tensor], layout.count));
  double worst = 0;
  for (std::size_t e = 0; e < low.size(); ++e) {
    const double difference = std::fabs(low[e] - exact[e]);
    if (std::isfinite(difference)) worst = std::max(worst, difference);
  }
  return worst;
}

// Frees the device's memory if the host compares from here on.
Status SeededInputs::read_expected() {
  if (!expected_.empty()) return {};
  std::vector<std::vector<double>> expected(context_.layouts.size());
  for (std::size_t i = 0; i < context_.layouts.size(); ++i) {
    if (!is_compared(context_.layouts[i])) continue;
    MGTUNE_ASSIGN(expected[i],
                  read_doubles(context_.device, reference_[i], context_.layouts[i].count));
  }
  if (context_.device_compare == nullptr) reference_.clear();
  expected_ = std::move(expected);
  return {};
}

// Decoding makes sure that every output has an entry.
double SeededInputs::tolerance(const TensorLayout& layout) const {
  const std::map<DType, double>& tolerances = context_.problem.op->check.tolerance;
  const auto found = tolerances.find(layout.dtype);
  return found == tolerances.end() ? 0 : found->second;
}

Result<bool> SeededInputs::inputs_are_intact() const {
  for (std::size_t i = 0; i < context_.layouts.size(); ++i) {
    if (!is_present_input(context_.layouts[i])) continue;
    MGTUNE_ASSIGN(
        const std::uint64_t now,
        context_.device_compare->fingerprint(tensors_.pointers()[i], context_.layouts[i].bytes()));
    if (now != fingerprints_[i]) return false;
  }
  return true;
}

// Inputs that did not change need no copy from the host.
Status SeededInputs::prepare() {
  if (context_.device_compare == nullptr) return tensors_.prepare();
  MGTUNE_ASSIGN(const bool intact, inputs_are_intact());
  return intact ? tensors_.prepare_outputs() : tensors_.prepare();
}

Result<bool> SeededInputs::passes_on_device(CheckRecord& record) const {
  MGTUNE_ASSIGN(const bool guards, tensors_.guards_are_intact());
  if (!guards) return false;
  MGTUNE_ASSIGN(const bool intact, inputs_are_intact());
  if (!intact) return false;
  CheckRecord updated = record;
  for (std::size_t i = 0; i < context_.layouts.size(); ++i) {
    const TensorLayout& layout = context_.layouts[i];
    if (!is_compared(layout)) continue;
    MGTUNE_ASSIGN(
        const DifferenceSums sums,
        context_.device_compare->compare(layout, tensors_.pointers()[i], reference_[i].data(),
                                         context_.problem.op->check.sample_rows));
    if (is_by_baseline(context_.problem)) {
      if (sums.finiteness > 0 || sums.worst > largest_difference_[i]) return false;
      keep_worst(sums.worst, largest_difference_[i], updated);
      continue;
    }
    if (!sums.surely_within(tolerance(layout))) return false;
    keep_worst(sums.relative_error(), tolerance(layout), updated);
  }
  record = updated;
  return true;
}

Result<std::string> SeededInputs::compare(const std::vector<Bytes>& outputs, CheckRecord& record) {
  MGTUNE_TRY(read_expected());
  const bool by_baseline = is_by_baseline(context_.problem);
  const auto judge = by_baseline ? compare_by_largest_difference : compare_with_reference;
  std::string message;
  for (std::size_t i = 0; i < context_.layouts.size(); ++i) {
    const TensorLayout& layout = context_.layouts[i];
    if (!is_compared(layout)) continue;
    const double allowed = by_baseline ? largest_difference_[i] : tolerance(layout);
    const OutputComparison comparison =
        judge(layout, outputs[i], expected_[i], allowed, context_.problem.op->check.sample_rows);
    keep_worst(comparison.error, allowed, record);
    if (message.empty() && !comparison.message.empty()) {
      message = is_untouched(layout, outputs[i]) ? layout.name + " was never written: " : "";
      message += comparison.message;
    }
  }
  return message;
}

}  // namespace mgtune
