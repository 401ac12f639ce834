#include "results/result_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "core/text.h"
#include "device/registry.h"
#include "family/problem.h"
#include "system/file_system.h"
#include "timing/gpu_timer.h"

namespace mgtune {
namespace {

std::string did_you_mean(const std::string& word, const Names& names) {
  return mgtune::did_you_mean(word, std::vector(names.begin(), names.end()));
}

// The recorded operators and the shipped ones, with their families.
Names known_kernels(Catalog& catalog, Names operators) {
  for (const std::string& family : Catalog::shipped_families()) {
    const Result<std::vector<const Operator*>> shipped = catalog.find(family);
    if (!shipped.ok()) continue;
    for (const Operator* op : *shipped) operators.insert(op->full_name());
  }
  Names names = operators;
  for (const std::string& op : operators) names.insert(op.substr(0, op.find('.')));
  return names;
}

std::string no_results(const std::string& option, const std::string& word, const Names& recorded) {
  return option + " " + word + ": no results of it in this store; it has those of " +
         listed(recorded);
}

Status check_kernel(const std::string& kernel, const Names& recorded) {
  const auto is_meant = [&](const std::string& name) { return means_operator(kernel, name); };
  if (kernel.empty() || std::ranges::any_of(recorded, is_meant)) return {};
  Catalog catalog(FileSystem::real());
  Status found = catalog.find(kernel).status();
  if (found.code() != StatusCode::not_found || recorded.empty()) return found;
  return invalid_argument(no_results("--kernel", kernel, recorded) +
                          did_you_mean(kernel, known_kernels(catalog, recorded)));
}

Status check_gpu(const std::string& word, const Names& recorded) {
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  const auto is_meant = [&](const std::string& model) { return means_gpu(products, word, model); };
  if (word.empty() || std::ranges::any_of(recorded, is_meant)) return {};
  if (!recorded.empty()) {
    return invalid_argument(no_results("--gpu", word, recorded) +
                            gpu_suggestion(word, products, recorded));
  }
  const auto is_called = [&](const GpuProduct& product) { return product.is_called(word); };
  if (same_word(word, "cpu") || std::ranges::any_of(products, is_called)) return {};
  Names here;  // with GPUs that configs/gpus does not know
  for (const DeviceInfo& device : list_devices()) here.insert(device.name);
  if (std::ranges::any_of(here, is_meant)) return {};
  std::vector<std::string> names(here.begin(), here.end());
  names.emplace_back("cpu");
  return invalid_argument("--gpu " + word + ": no GPU is called so" +
                          suggest_gpu(word, products, std::move(names)));
}

Status check_method(const std::string& method, const Names& recorded) {
  Names known = {"rotating_events", "emulation"};
  known.insert(gpu_methods().begin(), gpu_methods().end());
  known.insert(recorded.begin(), recorded.end());
  if (method.empty() || known.contains(method)) return {};
  const std::string there = recorded.empty() ? "" : "; this store has those by " + listed(recorded);
  return invalid_argument("--method " + method + ": no method is called so" + there +
                          must_be_one_of(method, std::vector(known.begin(), known.end())));
}

}  // namespace

RecordedNames names_of(const std::vector<TunedView>& tuned,
                       const std::vector<OutcomeView>& outcomes) {
  RecordedNames names;
  Names problems;
  const auto add = [&](const auto& row) {
    names.operators.insert(row.op);
    names.models.insert(row.gpu.model);
    if (!problems.insert(row.op + ' ' + row.problem).second) return;
    const auto words = parse_assignments(row.problem);
    if (!words.ok()) return;
    for (const auto& [name, value] : *words) names.problem_names[row.op].insert(name);
  };
  for (const TunedView& row : tuned) {
    add(row);
    names.methods.insert(row.tuned.method);
  }
  for (const OutcomeView& row : outcomes) {
    add(row);
    if (row.measurement) names.methods.insert(row.measurement->method);
  }
  return names;
}

bool means_operator(const std::string& kernel, const std::string& full_name) {
  if (kernel.empty()) return true;
  std::string path = kernel;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const bool is_file = path.ends_with(".json");
  if (is_file) path.resize(path.size() - std::string_view(".json").size());
  const bool is_path = is_file || path == "." || path.find('/') != std::string::npos;
  std::error_code gone;
  if (is_path) path = std::filesystem::absolute(path, gone).lexically_normal().string();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::string name = path.substr(path.rfind('/') + 1);
  if (!is_file && (full_name == name || full_name.starts_with(name + "."))) return true;
  // "my_family/forward" names the operator of a folder.
  const std::string folder = std::filesystem::path(path).parent_path().filename().string();
  return is_path && full_name == folder + "." + name;
}

bool means_gpu(const std::vector<GpuProduct>& products, const std::string& word,
               const std::string& model) {
  if (same_word(word, model)) return true;
  return std::ranges::any_of(products, [&](const GpuProduct& product) {
    return product.is_called(word) && product.is_called(model);
  });
}

Result<Selection> select_kernel_and_gpu(const ResultFilter& filter, const RecordedNames& recorded) {
  MGTUNE_TRY(check_kernel(filter.kernel, recorded.operators));
  MGTUNE_TRY(check_gpu(filter.gpu, recorded.models));
  Selection selection;
  selection.wants_operator = [&filter](const std::string& op) {
    return means_operator(filter.kernel, op);
  };
  if (filter.gpu.empty()) return selection;
  MGTUNE_ASSIGN(std::vector<GpuProduct> products, shipped_gpu_products());
  selection.wants_gpu = [&filter, products = std::move(products)](const GpuRecord& gpu) {
    return means_gpu(products, filter.gpu, gpu.model);
  };
  return selection;
}

Result<Selection> select_results(const ResultFilter& filter, Store& store, Catalog& catalog) {
  const bool selects_all = filter.kernel.empty() && filter.gpu.empty() && filter.problem.empty() &&
                           filter.method.empty();
  if (selects_all) return Selection();
  Result<std::map<std::string, std::string>> words = parse_assignments(filter.problem);
  if (!words.ok()) return std::move(words).take_status().with_context("--problem");
  if (!filter.kernel.empty()) {
    Status found = catalog.find(filter.kernel).status();
    if (found.code() == StatusCode::invalid_argument) return found;  // a malformed family
  }
  MGTUNE_ASSIGN(const std::vector<TunedView> tuned, store.tuned());
  MGTUNE_ASSIGN(const std::vector<OutcomeView> outcomes, store.outcomes());
  const RecordedNames names = names_of(tuned, outcomes);
  MGTUNE_ASSIGN(Selection selection, select_kernel_and_gpu(filter, names));
  if (!filter.kernel.empty() && std::ranges::none_of(names.operators, selection.wants_operator)) {
    return nothing_to_export("this store has no results of '" + filter.kernel + "'");
  }
  selection.problem = *std::move(words);
  selection.method = filter.method;
  Names of_problems;
  for (const auto& [op, recorded] : names.problem_names) {
    if (!means_operator(filter.kernel, op)) continue;
    of_problems.insert(recorded.begin(), recorded.end());
    of_problems.merge(problem_names(catalog, op));
  }
  MGTUNE_TRY(check_problem(selection.problem, of_problems));
  MGTUNE_TRY(check_method(filter.method, names.methods));
  return selection;
}

Status nothing_to_export(const std::string& reason) {
  return not_found("nothing to export: " + reason + "; 'mgtune show best' lists what there is");
}

std::string gpu_suggestion(const std::string& word, const std::vector<GpuProduct>& products,
                           const Names& names) {
  const auto is_called = [&](const GpuProduct& product) { return product.is_called(word); };
  if (std::ranges::any_of(products, is_called) || same_word(word, "cpu")) return "";
  // Suggest only products with results, because others would be refused too.
  std::vector<GpuProduct> with_results;
  std::ranges::copy_if(products, std::back_inserter(with_results), [&](const GpuProduct& product) {
    return names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
             return product.is_called(name);
           });
  });
  return suggest_gpu(word, with_results, {names.begin(), names.end()});
}

Names problem_names(Catalog& catalog, const std::string& full_name) {
  const Result<const Operator*> op = catalog.find_operator(full_name);
  if (!op.ok()) return {};
  const std::vector<std::string> words = problem_words(**op);
  return {words.begin(), words.end()};
}

Status check_problem(const std::map<std::string, std::string>& words, const Names& names) {
  for (const auto& [name, value] : words) {
    if (names.contains(name)) continue;
    return invalid_argument("--problem: unknown name '" + name + "'; there are " + listed(names) +
                            did_you_mean(name, names));
  }
  return {};
}

std::string listed(const Names& names) { return fmt::format("{}", fmt::join(names, ", ")); }

}  // namespace mgtune
