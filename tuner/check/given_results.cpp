#include "check/given_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "json/json.h"
#include "system/file_system.h"
#include "system/process.h"
#include "system/temporary_folder.h"
#include "tensors/array_file.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxOutputInMessage = 4000;

bool is_needed(const TensorLayout& layout) { return layout.present && layout.is_output(); }

double scalar_as_double(const ScalarValue& value, DType dtype) {
  return element_as_double(&value, 0, dtype);
}

std::string problem_text(const Problem& problem, const std::vector<TensorLayout>& layouts,
                         const std::vector<ScalarValue>& scalars) {
  const Operator& op = *problem.op;
  const auto value_of = [&](int slot) { return problem.slots[static_cast<std::size_t>(slot)]; };
  Json dims = Json::object(), dtypes = Json::object(), flags = Json::object();
  Json given = Json::object(), inputs = Json::array(), outputs = Json::object();
  for (const Dim& dim : op.dims) dims[dim.name] = value_of(dim.slot);
  for (const DTypeVariable& variable : op.dtypes) {
    dtypes[variable.name] = to_string(static_cast<DType>(value_of(variable.slot)));
  }
  for (const Flag& flag : op.flags) flags[flag.name] = value_of(flag.slot) != 0;
  for (std::size_t i = 0; i < op.scalars.size(); ++i) {
    given[op.scalars[i].name] = scalar_as_double(scalars[i], op.scalars[i].dtype);
  }
  for (const TensorLayout& layout : layouts) {
    if (layout.present && layout.role != Role::out) inputs.push_back(layout.name);
    if (!is_needed(layout)) continue;
    outputs[layout.name] = {{"dtype", to_string(layout.dtype)}, {"shape", layout.shape}};
  }
  Json text = {
      {"operator", op.full_name()}, {"dims", dims},     {"dtypes", dtypes},  {"flags", flags},
      {"scalars", given},           {"inputs", inputs}, {"outputs", outputs}};
  return text.document_text();
}

// The end of a program's output usually says what failed.
std::string last_part(std::string output) {
  while (output.ends_with('\n')) output.pop_back();
  if (output.size() <= kMaxOutputInMessage) return output;
  return "..." + output.substr(output.size() - kMaxOutputInMessage);
}

Status run_command(const Operator& op, const std::string& folder) {
  Subprocess program;
  program.arguments = op.check.command;
  program.arguments.push_back(folder);
  program.directory = op.sources->folder;
  program.temporary_folder = folder;
  program.deadline = std::chrono::seconds(op.check.command_seconds);
  const std::string words = fmt::format("{}", fmt::join(op.check.command, " "));
  Result<SubprocessOutcome> outcome = run_subprocess(program);
  if (outcome.status().code() == StatusCode::timeout) {
    return Status(StatusCode::timeout,
                  fmt::format("'{}' did not end within {} s; \"seconds\" allows it more", words,
                              op.check.command_seconds));
  }
  if (!outcome.ok()) {
    return invalid_argument(fmt::format("'{}': {}", words, outcome.status().message()));
  }
  if (outcome->exit_code == 0) return {};
  return invalid_argument(fmt::format("'{}' ended with code {}: {}", words, outcome->exit_code,
                                      last_part(std::move(outcome->output))));
}

// Writes the files that the program reads, and runs the program.
Status compute_in(const TemporaryFolder& folder, const Problem& problem,
                  const std::vector<TensorLayout>& layouts, const std::vector<ScalarValue>& scalars,
                  const ProblemTensors& tensors) {
  MGTUNE_TRY(folder.write("problem.json", problem_text(problem, layouts, scalars)));
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const TensorLayout& layout = layouts[i];
    if (!layout.present || layout.role == Role::out) continue;
    MGTUNE_ASSIGN(const std::shared_ptr<const Bytes> image, tensors.content(i));
    const Bytes elements = packed_elements(layout, *image);
    const ArrayFile array{layout.dtype, layout.shape,
                          std::string(elements.begin(), elements.end())};
    MGTUNE_TRY(folder.write(layout.name + ".npy", npy_text(array)));
  }
  return run_command(*problem.op, folder.path());
}

// Reads the result of each output from the file that `source_of` names.
template <typename SourceOf>
Result<std::vector<std::vector<double>>> read_results(const std::string& folder,
                                                      const std::vector<TensorLayout>& layouts,
                                                      const SourceOf& source_of) {
  std::vector<std::vector<double>> results(layouts.size());
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    if (!is_needed(layouts[i])) continue;
    const ArraySource source = source_of(layouts[i].name);
    MGTUNE_ASSIGN(const ArrayFile array, read_array_file(folder, source));
    Result<std::vector<double>> values = doubles_for(array, layouts[i]);
    if (!values.ok()) return std::move(values).take_status().with_context(source.path);
    results[i] = *std::move(values);
  }
  return results;
}

}  // namespace

bool has_given_results(const Check& check) { return check.reference.empty(); }

std::string given_results_text(const Operator& op) { return op.place("/check/reference"); }

Bytes packed_elements(const TensorLayout& layout, const Bytes& image) {
  const auto size = static_cast<std::size_t>(size_in_bytes(layout.dtype));
  Bytes elements(static_cast<std::size_t>(layout.count) * size);
  for_each_element(layout, [&](std::int64_t element, std::int64_t offset) {
    std::memcpy(elements.data() + static_cast<std::size_t>(element) * size,
                image.data() + static_cast<std::size_t>(offset) * size, size);
  });
  return elements;
}

Result<std::vector<std::vector<double>>> given_results(const Problem& problem,
                                                       const std::vector<TensorLayout>& layouts,
                                                       const std::vector<ScalarValue>& scalars,
                                                       const ProblemTensors& tensors) {
  const Operator& op = *problem.op;
  if (op.check.command.empty()) {
    return read_results(op.sources->folder, layouts,
                        [&](const std::string& name) { return op.check.files.at(name); });
  }
  MGTUNE_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
  MGTUNE_TRY(compute_in(folder, problem, layouts, scalars, tensors));
  return read_results(folder.path(), layouts, [](const std::string& name) {
    return ArraySource{name + ".npy", {}};
  });
}

}  // namespace mgtune
