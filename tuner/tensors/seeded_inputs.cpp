#include "tensors/seeded_inputs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

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
  if (context.device_compare == nullptr) MGTUNE_TRY(inputs.tensors_.keep_images());
  MGTUNE_ASSIGN(inputs.reference_, reference.compute(inputs.tensors_));
  MGTUNE_TRY(inputs.set_allowed_errors(reference));
  if (context.device_compare == nullptr) {
    MGTUNE_TRY(inputs.read_expected());
    return inputs;
  }
  DeviceCompare& compare = *context.device_compare;
  MGTUNE_ASSIGN(inputs.bands_, compare.upload(inputs.tensors_.guard_bands()));
  compare.forget();
  MGTUNE_TRY(inputs.ask_what_must_stay());
  MGTUNE_ASSIGN(DeviceCompare::Answers answers, compare.read());
  inputs.must_stay_ = std::move(answers.numbers);
  inputs.must_stay_.front() = 0;  // no band has changed
  return inputs;
}

// The allowed error is the tolerance of the output's dtype, or twice the error of the baseline plus
// the slack of the dtype. If the baseline is not finite where the reference is, this says nothing
// about variants.
Status SeededInputs::set_allowed_errors(const Reference& reference) {
  const Check& check = context_.problem.op->check;
  const bool by_baseline = is_by_baseline(context_.problem);
  const std::map<DType, double>& limits = by_baseline ? check.slack : check.tolerance;
  std::vector<Buffer> baseline;
  if (by_baseline) {
    MGTUNE_ASSIGN(baseline, reference.compute_baseline(tensors_));
  }
  allowed_.resize(context_.layouts.size());
  for (std::size_t i = 0; i < allowed_.size(); ++i) {
    if (!is_compared(context_.layouts[i])) continue;
    const auto limit = limits.find(context_.layouts[i].dtype);
    allowed_[i] = limit == limits.end() ? 0 : limit->second;
    if (!by_baseline) continue;
    MGTUNE_ASSIGN(const double worst, worst_of_baseline(i, baseline[i]));
    allowed_[i] += 2 * worst;
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

// Copies the reference's results to the host. Frees them on the device if the host compares from
// now on.
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

// Asks for what no launch may change: the guard bands and the inputs.
Status SeededInputs::ask_what_must_stay() {
  MGTUNE_TRY(context_.device_compare->ask_changes(bands_));
  for (std::size_t i = 0; i < context_.layouts.size(); ++i) {
    const TensorLayout& layout = context_.layouts[i];
    if (!is_present_input(layout)) continue;
    MGTUNE_TRY(context_.device_compare->ask_fingerprint(tensors_.pointers()[i], layout.bytes()));
  }
  return {};
}

Status SeededInputs::prepare() { return tensors_.prepare(); }

Status SeededInputs::prepare_outputs() {
  context_.device_compare->forget();
  MGTUNE_TRY(tensors_.prepare_outputs());
  return ask_what_must_stay();
}

Result<SeededInputs::Verdict> SeededInputs::judge_on_device(CheckRecord& record) {
  DeviceCompare& device = *context_.device_compare;
  MGTUNE_TRY(ask_what_must_stay());
  for (std::size_t i = 0; i < context_.layouts.size(); ++i) {
    const TensorLayout& layout = context_.layouts[i];
    if (!is_compared(layout)) continue;
    MGTUNE_TRY(device.ask_differences(layout, tensors_.pointers()[i], reference_[i].data(),
                                      context_.problem.op->check.sample_rows));
  }
  MGTUNE_ASSIGN(const DeviceCompare::Answers answers, device.read());
  const std::span<const std::uint64_t> numbers(answers.numbers);
  const std::size_t half = must_stay_.size();
  if (!std::ranges::equal(numbers.first(half), must_stay_)) return Verdict::repeat;
  if (!std::ranges::equal(numbers.subspan(half), must_stay_)) return Verdict::look;
  const bool by_baseline = is_by_baseline(context_.problem);
  CheckRecord updated = record;
  auto found = answers.differences.begin();
  for (std::size_t i = 0; i < context_.layouts.size(); ++i) {
    if (!is_compared(context_.layouts[i])) continue;
    const DifferenceSums& sums = *found++;
    const bool passes = by_baseline ? sums.finiteness == 0 && sums.worst <= allowed_[i]
                                    : sums.surely_within(allowed_[i]);
    if (!passes) return Verdict::look;
    keep_worst(by_baseline ? sums.worst : sums.relative_error(), allowed_[i], updated);
  }
  record = updated;
  return Verdict::passes;
}

Result<std::string> SeededInputs::compare(const std::vector<Bytes>& outputs, CheckRecord& record) {
  MGTUNE_TRY(read_expected());
  const bool by_baseline = is_by_baseline(context_.problem);
  const auto judge = by_baseline ? compare_by_largest_difference : compare_with_reference;
  std::string message;
  for (std::size_t i = 0; i < context_.layouts.size(); ++i) {
    const TensorLayout& layout = context_.layouts[i];
    if (!is_compared(layout)) continue;
    const OutputComparison comparison = judge(layout, outputs[i], expected_[i], allowed_[i],
                                              context_.problem.op->check.sample_rows);
    keep_worst(comparison.error, allowed_[i], record);
    if (message.empty() && !comparison.message.empty()) {
      message = is_untouched(layout, outputs[i]) ? layout.name + " was never written: " : "";
      message += comparison.message;
    }
  }
  return message;
}

Result<std::vector<OutputReport>> SeededInputs::describe(const std::vector<Bytes>& outputs) {
  MGTUNE_TRY(read_expected());
  const bool by_baseline = is_by_baseline(context_.problem);
  const auto judge = by_baseline ? compare_by_largest_difference : compare_with_reference;
  const std::int64_t sample_rows = context_.problem.op->check.sample_rows;
  std::vector<OutputReport> reports;
  for (std::size_t i = 0; i < context_.layouts.size(); ++i) {
    const TensorLayout& layout = context_.layouts[i];
    if (!is_compared(layout)) continue;
    const OutputComparison comparison =
        judge(layout, outputs[i], expected_[i], allowed_[i], sample_rows);
    reports.push_back(describe_output(layout, outputs[i], expected_[i], comparison, allowed_[i],
                                      by_baseline, sample_rows));
  }
  return reports;
}

}  // namespace mgtune
