#include "family/catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "core/embedded.h"
#include "core/suggest.h"

namespace mgtune {
namespace {

constexpr std::string_view kShippedRoot = "kernels/";
constexpr std::string_view kCommon = "common";  // headers for every family, not one itself

std::string folder_name(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  return path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
}

// Sources that an operator names are there.
Status check_sources(const Operator& op) {
  const auto check = [&op](const std::string& place, const std::string& file) -> Status {
    if (op.sources->files.contains(file)) return {};
    return invalid_argument(
        fmt::format("{}: {}: no file '{}' in {}", op.file, place, file, op.sources->folder));
  };
  MGTUNE_TRY(check("/check/reference", op.check.source));
  for (const Design& design : op.designs) {
    MGTUNE_TRY(check("/designs/" + design.name + "/source", design.source));
  }
  return {};
}

// "family.operator" split at the last dot behind the last slash; the operator is "" without a dot.
std::pair<std::string, std::string> split_operator(const std::string& kernel) {
  const std::size_t dot = kernel.rfind('.');
  const std::size_t slash = kernel.rfind('/');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return {kernel, ""};
  return {kernel.substr(0, dot), kernel.substr(dot + 1)};
}

bool is_shipped(const std::string& name) {
  return std::ranges::binary_search(Catalog::shipped_families(), name);
}

}  // namespace

Result<Family> load_family(SourceTree sources) {
  Family family;
  family.name = folder_name(sources.folder);
  family.sources = std::make_shared<const SourceTree>(std::move(sources));
  for (const auto& [path, content] : family.sources->files) {
    constexpr std::string_view kExtension = ".json";
    if (!path.ends_with(kExtension) || path.find('/') != std::string::npos) continue;
    const std::string name = path.substr(0, path.size() - kExtension.size());
    MGTUNE_ASSIGN(Operator op, decode_operator(family.name, name, family.sources));
    MGTUNE_TRY(check_sources(op));
    family.operators.push_back(std::move(op));
  }
  if (family.operators.empty()) {
    return invalid_argument(family.sources->folder + ": no operator file (*.json) in this folder");
  }
  std::ranges::sort(family.operators, {}, &Operator::name);
  return family;
}

std::vector<std::string> Catalog::shipped_families() {
  std::set<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(kShippedRoot) || !file.path.ends_with(".json")) continue;
    const std::string_view path = file.path.substr(kShippedRoot.size());
    const std::size_t slash = path.find('/');
    if (slash != path.rfind('/') || slash == std::string_view::npos) continue;
    if (path.substr(0, slash) != kCommon) names.emplace(path.substr(0, slash));
  }
  return {names.begin(), names.end()};
}

Result<const Family*> Catalog::family(const std::string& name_or_folder) {
  const auto known = families_.find(name_or_folder);
  if (known != families_.end()) return known->second.get();
  SourceTree sources;
  if (is_shipped(name_or_folder)) {
    sources = embedded_source_tree(std::string(kShippedRoot) + name_or_folder);
  } else {
    MGTUNE_ASSIGN(sources, read_source_tree(file_system_, name_or_folder));
  }
  MGTUNE_ASSIGN(Family loaded, load_family(std::move(sources)));
  auto& owned = families_[name_or_folder];
  owned = std::make_unique<Family>(std::move(loaded));
  Status fills = check_fills(*owned);  // which may ask for this family again
  if (!fills.ok()) {
    families_.erase(name_or_folder);
    return fills;
  }
  return owned.get();
}

Status Catalog::check_fills(const Family& family) {
  for (const Operator& op : family.operators) {
    for (const Tensor& tensor : op.tensors) {
      if (tensor.fill.kind == Fill::Kind::output) MGTUNE_TRY(check_fill(family, op, tensor));
    }
  }
  return {};
}

// {"op": "rmsnorm.forward", "output": "rstd"} names an operator of the same family or a shipped
// one, and one of its outputs.
Status Catalog::check_fill(const Family& family, const Operator& op, const Tensor& tensor) {
  const std::string place = fmt::format("{}: /tensors/{}/fill", op.file, tensor.name);
  const std::string& source = tensor.fill.source_operator;
  const std::string source_family = split_operator(source).first;
  const Family* owner = &family;
  if (source_family != family.name && is_shipped(source_family)) {
    MGTUNE_ASSIGN(owner, this->family(source_family));
  }
  const auto found = std::ranges::find(owner->operators, source, &Operator::full_name);
  if (found == owner->operators.end()) {
    return invalid_argument(fmt::format("{}/op: unknown operator '{}'{}", place, source,
                                        did_you_mean(source, full_names(&family))));
  }
  std::vector<std::string> outputs;
  for (const Tensor& other : found->tensors) {
    if (other.role != Role::in) outputs.push_back(other.name);
  }
  const std::string& output = tensor.fill.source_output;
  if (std::ranges::find(outputs, output) != outputs.end()) return {};
  return invalid_argument(fmt::format("{}/output: {} has no output '{}'{}", place, source, output,
                                      did_you_mean(output, outputs)));
}

// Of the shipped families, and of one more unless null. For messages: those that do not decode have
// none.
std::vector<std::string> Catalog::full_names(const Family* more) {
  std::vector<std::string> names;
  const auto add = [&names](const Family& family) {
    for (const Operator& op : family.operators) names.push_back(op.full_name());
  };
  if (more != nullptr) add(*more);
  for (const std::string& shipped : shipped_families()) {
    const Result<Family> loaded =
        load_family(embedded_source_tree(std::string(kShippedRoot) + shipped));
    if (loaded.ok()) add(*loaded);
  }
  return names;
}

// A name of kernels/ first, so that what lies in the current folder never changes what it means; a
// word with a slash is always a folder.
Result<Catalog::Named> Catalog::resolve(const std::string& kernel) {
  if (is_shipped(kernel)) return Named{kernel, ""};
  const auto [prefix, operator_name] = split_operator(kernel);
  if (is_shipped(prefix)) return Named{prefix, operator_name};
  std::string folder = kernel;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  if (file_system_.is_directory(folder)) return Named{folder, ""};
  if (!operator_name.empty() && file_system_.is_directory(prefix)) {
    return Named{prefix, operator_name};
  }
  if (kernel.find('/') != std::string::npos) {
    return not_found(fmt::format("no folder '{}'", kernel));
  }
  return not_found(
      fmt::format("unknown kernel '{}'{}", kernel, did_you_mean(prefix, shipped_families())));
}

Result<std::vector<const Operator*>> Catalog::find(const std::string& kernel) {
  MGTUNE_ASSIGN(const Named named, resolve(kernel));
  MGTUNE_ASSIGN(const Family* found, family(named.family));
  std::vector<const Operator*> operators;
  std::vector<std::string> names;
  for (const Operator& op : found->operators) {
    names.push_back(op.name);
    if (named.op.empty() || op.name == named.op) operators.push_back(&op);
  }
  if (operators.empty()) {
    return not_found(fmt::format("{} has no operator '{}'{}", named.family, named.op,
                                 did_you_mean(named.op, names)));
  }
  return operators;
}

Result<const Operator*> Catalog::find_operator(const std::string& full_name) {
  for (const auto& [key, loaded] : families_) {
    for (const Operator& op : loaded->operators) {
      if (op.full_name() == full_name) return &op;
    }
  }
  const auto [family_name, operator_name] = split_operator(full_name);
  if (operator_name.empty()) {
    std::vector<std::string> of_family = full_names(nullptr);
    std::erase_if(of_family, [&](const auto& name) { return !name.starts_with(full_name + "."); });
    return not_found(fmt::format("unknown operator '{}'; an operator is named family.operator{}{}",
                                 full_name, of_family.empty() ? "" : ": ",
                                 fmt::join(of_family, ", ")));
  }
  if (!is_shipped(family_name)) {
    return not_found(fmt::format("unknown operator '{}'{}", full_name,
                                 did_you_mean(full_name, full_names(nullptr))));
  }
  MGTUNE_ASSIGN(const std::vector<const Operator*> found, find(full_name));
  return found.front();
}

}  // namespace mgtune
