#include "tensors/output_fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "check/reference.h"
#include "core/dtype.h"
#include "family/catalog.h"
#include "family/source_tree.h"

namespace mgtune {
namespace {

// The problem of `source`, with the values of `problem` that it can use, and with the optional
// outputs that are wanted.
Result<Problem> source_problem(const Operator& source, const Problem& problem,
                               const std::set<std::string>& outputs) {
  std::map<std::string, std::string> words;
  MGTUNE_ASSIGN(const auto own, parse_assignments(problem.text()));
  for (const std::string& word : problem_words(source)) {
    if (const auto found = own.find(word); found != own.end()) words.insert(*found);
    if (outputs.contains(word)) words[word] = "true";
  }
  return bind_problem(source, words);
}

bool same_elements(const TensorLayout& a, const TensorLayout& b) {
  return a.dtype == b.dtype && a.shape == b.shape;
}

Bytes image_of(const TensorLayout& layout, const std::vector<double>& values) {
  Bytes elements(static_cast<std::size_t>(layout.count * size_in_bytes(layout.dtype)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    put_element(elements.data(), static_cast<std::int64_t>(i), layout.dtype, values[i]);
  }
  return strided_image(layout, elements);
}

// Runs the reference of another operator on the tensors of a problem.
class SourceRun {
 public:
  SourceRun(Device& device, Builder& builder, const Problem& problem,
            const std::vector<TensorLayout>& layouts)
      : device_(device), builder_(builder), problem_(problem), layouts_(layouts) {}

  Status run(Operator source, const std::set<std::string>& outputs,
             const std::vector<ScalarValue>& scalars, std::uint64_t seed,
             const ProblemTensors& tensors) {
    source_ = std::move(source);
    MGTUNE_ASSIGN(source_problem_, source_problem(source_, problem_, outputs));
    MGTUNE_ASSIGN(source_layouts_, tensor_layouts(source_problem_));
    MGTUNE_ASSIGN(Reference reference,
                  Reference::make(device_, builder_, source_problem_, source_layouts_));
    share_scalars(scalars, reference);
    MGTUNE_ASSIGN(ProblemTensors inputs,
                  ProblemTensors::allocate(device_, source_layouts_, Placement::exact));
    MGTUNE_TRY(reference.fill(inputs, seed));
    share_inputs(tensors, inputs);
    MGTUNE_ASSIGN(results_, reference.compute(inputs));
    return {};
  }

  Status put(std::size_t tensor, ProblemTensors& tensors) const {
    const TensorLayout& layout = layouts_[tensor];
    const Fill& fill = problem_.op->tensors[tensor].fill;
    const auto output = std::ranges::find(source_layouts_, fill.source_output, &TensorLayout::name);
    if (output == source_layouts_.end() || !same_elements(*output, layout)) {
      return invalid_argument(fmt::format("{}: tensor {} is not like the output {} of {}",
                                          problem_.op->file, layout.name, fill.source_output,
                                          fill.source_operator));
    }
    const auto index = static_cast<std::size_t>(output - source_layouts_.begin());
    MGTUNE_ASSIGN(const std::vector<double> values,
                  read_doubles(device_, results_[index], layout.count));
    tensors.set_content(tensor, image_of(layout, values));
    return {};
  }

 private:
  void share_scalars(const std::vector<ScalarValue>& scalars, Reference& reference) const {
    const std::vector<Scalar>& own = problem_.op->scalars;
    for (std::size_t i = 0; i < source_.scalars.size(); ++i) {
      const auto found = std::ranges::find(own, source_.scalars[i].name, &Scalar::name);
      if (found == own.end() || found->dtype != source_.scalars[i].dtype) continue;
      reference.set_scalar(i, scalars[static_cast<std::size_t>(found - own.begin())]);
    }
  }

  void share_inputs(const ProblemTensors& tensors, ProblemTensors& inputs) const {
    for (std::size_t i = 0; i < source_layouts_.size(); ++i) {
      const TensorLayout& input = source_layouts_[i];
      const auto found = std::ranges::find(layouts_, input.name, &TensorLayout::name);
      if (input.role == Role::out || found == layouts_.end() || found->role == Role::out) continue;
      const auto index = static_cast<std::size_t>(found - layouts_.begin());
      const bool has_content = problem_.op->tensors[index].fill.kind != Fill::Kind::output;
      const bool same = same_elements(*found, input) && found->strides == input.strides;
      if (has_content && same) inputs.share_content(i, tensors, index);
    }
  }

  Device& device_;
  Builder& builder_;
  const Problem& problem_;
  const std::vector<TensorLayout>& layouts_;
  Operator source_;
  Problem source_problem_;
  std::vector<TensorLayout> source_layouts_;
  std::vector<Buffer> results_;
};

}  // namespace

Result<Operator> fill_source(const Operator& op, const Tensor& tensor) {
  const std::string& full_name = tensor.fill.source_operator;
  const std::size_t dot = full_name.find('.');
  const std::string family = full_name.substr(0, dot), name = full_name.substr(dot + 1);
  const std::vector<std::string> shipped = Catalog::shipped_families();
  const bool is_own = family == op.family;
  if (!is_own && std::ranges::find(shipped, family) == shipped.end()) {
    return unsupported(
        fmt::format("tensor {}: the operator {} is neither of this family nor of a "
                    "shipped one",
                    tensor.name, full_name));
  }
  MGTUNE_ASSIGN(Operator source,
                decode_operator(family, name,
                                is_own ? op.sources
                                       : std::make_shared<SourceTree>(
                                             embedded_source_tree("kernels/" + family))));
  const auto chained = [](const Tensor& other) { return other.fill.kind == Fill::Kind::output; };
  if (std::ranges::any_of(source.tensors, chained)) {
    return unsupported(fmt::format("tensor {}: {} has inputs from another operator itself",
                                   tensor.name, full_name));
  }
  return source;
}

Status fill_from_outputs(Device& device, Builder& builder, const Problem& problem,
                         const std::vector<TensorLayout>& layouts,
                         const std::vector<ScalarValue>& scalars, std::uint64_t seed,
                         ProblemTensors& tensors) {
  std::map<std::string, std::vector<std::size_t>> by_operator;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const Fill& fill = problem.op->tensors[i].fill;
    if (!layouts[i].present || fill.kind != Fill::Kind::output) continue;
    by_operator[fill.source_operator].push_back(i);
  }
  for (const auto& [name, wanted] : by_operator) {
    MGTUNE_ASSIGN(Operator source, fill_source(*problem.op, problem.op->tensors[wanted.front()]));
    std::set<std::string> outputs;
    for (const std::size_t i : wanted) outputs.insert(problem.op->tensors[i].fill.source_output);
    SourceRun run(device, builder, problem, layouts);
    MGTUNE_TRY(run.run(std::move(source), outputs, scalars, seed, tensors).with_context(name));
    for (const std::size_t i : wanted) MGTUNE_TRY(run.put(i, tensors));
  }
  return {};
}

}  // namespace mgtune
