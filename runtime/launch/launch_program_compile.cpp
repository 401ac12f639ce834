// The part of LaunchProgram that runs once, when a variant is loaded.

#include <fmt/format.h>

#include <algorithm>

#include "launch/launch_program.h"

namespace mgtune {

Result<LaunchValue> LaunchValue::fold(const Expression& expression, const Slots& loaded) {
  if (expression.stage() != Stage::launch) {
    MGTUNE_ASSIGN(const std::int64_t value, expression.evaluate(loaded));
    return LaunchValue(value);
  }
  LaunchValue later;
  later.expression_ = &expression;
  return later;
}

Result<LaunchValue> LaunchProgram::fold(const std::optional<Expression>& expression,
                                        std::int64_t otherwise) const {
  if (!expression) return LaunchValue(otherwise);
  return LaunchValue::fold(*expression, loaded_);
}

Status LaunchProgram::fold_extents(const std::vector<Expression>& from,
                                   std::array<LaunchValue, 3>& to) const {
  to.fill(LaunchValue(1));
  for (std::size_t i = 0; i < from.size(); ++i) {
    MGTUNE_ASSIGN(to[i], LaunchValue::fold(from[i], loaded_));
  }
  return {};
}

Result<LaunchProgram> LaunchProgram::compile(const Operator& op, const Variant& variant,
                                             const DeviceLimits& limits, const Slots& loaded,
                                             const std::vector<std::size_t>& constants) {
  const Design& design = op.designs[std::size_t(variant.design)];
  if (loaded.size() > kMaxSlots || design.workspace.size() > kMaxBuffers) {
    return unsupported(fmt::format(
        "design {} of {} has {} names and {} workspace buffers; at most {} and {} can be launched",
        design.name, op.full_name(), loaded.size(), design.workspace.size(), kMaxSlots,
        kMaxBuffers));
  }
  LaunchProgram program(op, design, limits, loaded);
  for (const Expression& constraint : op.constraints) {
    if (constraint.stage() != Stage::compile) program.op_constraints_.push_back(&constraint);
  }
  for (const Expression& constraint : design.constraints) {
    if (constraint.stage() != Stage::compile) program.constraints_.push_back(&constraint);
  }
  for (const Let& let : design.lets) {
    if (let.value.stage() == Stage::launch) program.lets_.push_back(&let);
  }
  MGTUNE_TRY(program.compile_tensors());
  MGTUNE_TRY(program.compile_constants(constants));
  MGTUNE_TRY(program.compile_buffers());
  for (std::size_t i = 0; i < design.launches.size(); ++i) MGTUNE_TRY(program.compile_kernel(i));
  MGTUNE_TRY(program.compile_estimate());
  return program;
}

// Comes last: lets that only the estimate needs are taken away from the launch.
Status LaunchProgram::compile_estimate() {
  if (!design_->estimate) return {};
  MGTUNE_ASSIGN(estimate_, LaunchValue::fold(*design_->estimate, loaded_));
  std::vector<bool> by_estimate(loaded_.size()), by_launches(loaded_.size());
  for (const int slot : estimate_->slots()) by_estimate[std::size_t(slot)] = true;
  mark_what_lets_read(by_estimate);
  mark_what_launches_read(by_launches);
  mark_what_lets_read(by_launches);
  std::erase_if(lets_, [&](const Let* let) {
    const auto slot = std::size_t(let->slot);
    if (by_estimate[slot]) estimate_lets_.push_back(let);
    return by_estimate[slot] && !by_launches[slot];
  });
  return {};
}

void LaunchProgram::mark_what_launches_read(std::vector<bool>& slots) const {
  const auto mark = [&](std::span<const int> read) {
    for (const int slot : read) slots[std::size_t(slot)] = true;
  };
  const auto mark_all = [&](std::span<const LaunchValue> values) {
    for (const LaunchValue& value : values) mark(value.slots());
  };
  for (const Expression* constraint : constraints_) mark(constraint->slots());
  for (const TensorRule& rule : tensors_) mark(rule.present.slots());
  for (const AlignmentRule& rule : alignments_) mark(rule.bytes.slots());
  for (const ConstantRule& rule : constants_) mark_all(rule.shape);
  for (const BufferRule& rule : buffers_) {
    mark(rule.present.slots());
    mark_all(rule.shape);
  }
  for (const KernelRule& rule : kernels_) {
    for (const LaunchValue* value : {&rule.when, &rule.shared, &rule.cooperative, &rule.pdl}) {
      mark(value->slots());
    }
    for (const auto* extents : {&rule.grid, &rule.block, &rule.cluster}) mark_all(*extents);
    for (const ArgumentRule& argument : rule.args) mark(argument.value.slots());
    for (const MapRule& map : rule.maps) {
      for (const auto* values : {&map.extent, &map.stride, &map.box}) mark_all(*values);
    }
  }
}

void LaunchProgram::mark_what_lets_read(std::vector<bool>& slots) const {
  for (auto let = lets_.rbegin(); let != lets_.rend(); ++let) {
    if (!slots[std::size_t((*let)->slot)]) continue;
    for (const int slot : (*let)->value.slots()) slots[std::size_t(slot)] = true;
  }
}

Status LaunchProgram::compile_tensors() {
  for (const Tensor& tensor : op_->tensors) {
    TensorRule rule;
    MGTUNE_ASSIGN(rule.present, fold(tensor.when, 1));
    if (tensor.has_slot >= 0 && loaded_[std::size_t(tensor.has_slot)] == 0) {
      rule.present = LaunchValue(0);
    }
    rule.align = std::max(tensor.align, size_in_bytes(tensor.dtype.resolve(loaded_)));
    tensors_.push_back(rule);
  }
  for (const Alignment& alignment : design_->alignments) {
    MGTUNE_ASSIGN(LaunchValue bytes, LaunchValue::fold(alignment.bytes, loaded_));
    alignments_.push_back({alignment.tensor, bytes});
  }
  return {};
}

// A tensor whose size is known already is compared with its variable here, and not at a launch.
Status LaunchProgram::compile_constants(const std::vector<std::size_t>& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const Constant& constant = design_->constants[i];
    const Tensor& tensor = op_->tensors[std::size_t(constant.tensor)];
    ConstantRule rule{std::size_t(constant.tensor),
                      size_in_bytes(tensor.dtype.resolve(loaded_)),
                      static_cast<std::int64_t>(bytes[i]),
                      {}};
    MGTUNE_ASSIGN(rule.shape, fold_all(tensor.shape));
    constants_.push_back(std::move(rule));
    const bool is_known = std::ranges::all_of(constants_.back().shape, &LaunchValue::is_constant);
    LaunchFrame frame;
    if (is_known) MGTUNE_TRY(size_constant(i, frame));
  }
  return {};
}

Status LaunchProgram::compile_buffers() {
  for (const Workspace& buffer : design_->workspace) {
    BufferRule rule;
    MGTUNE_ASSIGN(rule.present, fold(buffer.when, 1));
    rule.element_bytes = size_in_bytes(buffer.dtype.resolve(loaded_));
    MGTUNE_ASSIGN(rule.shape, fold_all(buffer.shape));
    rule.zero = buffer.zero;
    buffers_.push_back(std::move(rule));
  }
  return {};
}

Status LaunchProgram::compile_kernel(std::size_t index) {
  const Launch& launch = design_->launches[index];
  KernelRule rule;
  rule.launch = index;
  MGTUNE_ASSIGN(rule.when, fold(launch.when, 1));
  if (rule.when.is_constant() && rule.when.constant() == 0) return {};
  if (!launch.tensor_maps.empty() && limits_.compute_capability < 90) {
    return unsupported(
        fmt::format("kernel {} of {} takes tensor maps, which this device cannot make",
                    launch.kernel.name, op_->full_name()));
  }
  if (launch.tensor_maps.size() > kMaxTensorMaps) {
    return unsupported(fmt::format("kernel {} of {} takes {} tensor maps; at most {} can be passed",
                                   launch.kernel.name, op_->full_name(), launch.tensor_maps.size(),
                                   kMaxTensorMaps));
  }
  MGTUNE_TRY(fold_extents(launch.grid, rule.grid));
  MGTUNE_TRY(fold_extents(launch.block, rule.block));
  MGTUNE_TRY(fold_extents(launch.cluster, rule.cluster));
  MGTUNE_ASSIGN(rule.shared, LaunchValue::fold(launch.shared, loaded_));
  MGTUNE_ASSIGN(rule.cooperative, LaunchValue::fold(launch.cooperative, loaded_));
  MGTUNE_ASSIGN(rule.pdl, LaunchValue::fold(launch.pdl, loaded_));
  for (const Argument& argument : launch.args) {
    MGTUNE_ASSIGN(ArgumentRule compiled, compile_argument(argument));
    rule.args.push_back(compiled);
  }
  for (const TensorMap& map : launch.tensor_maps) {
    MGTUNE_ASSIGN(MapRule compiled, compile_map(map));
    rule.maps.push_back(std::move(compiled));
  }
  kernels_.push_back(std::move(rule));
  return {};
}

Result<std::vector<LaunchValue>> LaunchProgram::fold_all(
    const std::vector<Expression>& from) const {
  std::vector<LaunchValue> values;
  for (const Expression& expression : from) {
    MGTUNE_ASSIGN(const LaunchValue value, LaunchValue::fold(expression, loaded_));
    values.push_back(value);
  }
  return values;
}

Result<LaunchProgram::MapRule> LaunchProgram::compile_map(const TensorMap& map) const {
  const auto tensor = std::size_t(map.tensor);
  MapRule rule{tensor, op_->tensors[tensor].dtype.resolve(loaded_), map.swizzle, map.l2, {}, {},
               {}};
  MGTUNE_ASSIGN(rule.extent, fold_all(map.extent));
  MGTUNE_ASSIGN(rule.stride, fold_all(map.stride));
  MGTUNE_ASSIGN(rule.box, fold_all(map.box));
  return rule;
}

Result<LaunchProgram::ArgumentRule> LaunchProgram::compile_argument(
    const Argument& argument) const {
  ArgumentRule rule{argument.kind, 0, argument.dtype, LaunchValue()};
  if (argument.kind == Argument::Kind::value) {
    MGTUNE_ASSIGN(rule.value, LaunchValue::fold(*argument.value, loaded_));
  } else {
    rule.index = std::size_t(argument.index);
  }
  if (argument.kind == Argument::Kind::scalar) rule.dtype = op_->scalars[rule.index].dtype;
  return rule;
}

std::vector<std::size_t> LaunchProgram::argument_bytes(std::size_t kernel) const {
  std::vector<std::size_t> bytes;
  for (const ArgumentRule& argument : kernels_[kernel].args) {
    const bool typed =
        argument.kind == Argument::Kind::value || argument.kind == Argument::Kind::scalar;
    if (argument.kind == Argument::Kind::tensor_map) {
      bytes.push_back(sizeof(EncodedTensorMap));
      continue;
    }
    bytes.push_back(typed ? std::size_t(size_in_bytes(argument.dtype)) : sizeof(void*));
  }
  return bytes;
}

}  // namespace mgtune
