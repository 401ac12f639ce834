#include "family/catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "core/embedded.h"
#include "core/text.h"

namespace mgtune {
namespace {

constexpr std::string_view kShippedRoot = "kernels/";
constexpr std::string_view kCommon = "common";  // headers for every family, not one itself

// The absolute path, without a slash at its end. If the current folder does not exist any more, the
// path stays as it is.
std::filesystem::path absolute_path(const std::string& folder) {
  std::error_code gone;
  const std::filesystem::path path = std::filesystem::absolute(folder, gone).lexically_normal();
  if (gone) return folder;
  return path.has_filename() ? path : path.parent_path();
}

// Checks that the sources which an operator names exist.
Status check_sources(const Operator& op) {
  const auto check = [&op](const std::string& pointer, const std::string& file) -> Status {
    if (op.sources->files.contains(file)) return {};
    return invalid_argument(
        fmt::format("{}: no file '{}' in {}", op.place(pointer), file, op.sources->folder));
  };
  const auto is_filled_by_kernel = [](const Tensor& tensor) {
    return tensor.fill.kind == Fill::Kind::kernel;
  };
  // If files or a program give the results, reference.cu may be missing, unless it fills tensors.
  if (!op.check.reference.empty() || std::ranges::any_of(op.tensors, is_filled_by_kernel)) {
    MGTUNE_TRY(check("/check/reference", op.check.source));
  }
  for (const Design& design : op.designs) {
    MGTUNE_TRY(check("/designs/" + design.name + "/source", design.source));
  }
  return {};
}

// Splits "family.operator" at the last dot after the last slash. The operator is "" if there is no
// dot.
std::pair<std::string, std::string> split_operator(const std::string& kernel) {
  const std::size_t dot = kernel.rfind('.');
  const std::size_t slash = kernel.rfind('/');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return {kernel, ""};
  return {kernel.substr(0, dot), kernel.substr(dot + 1)};
}

bool is_shipped(const std::string& name) {
  return std::ranges::binary_search(Catalog::shipped_families(), name);
}

// "forward" for "forward.json" at the top of a family's folder, "" for every other path in it.
std::string_view operator_of(std::string_view path) {
  constexpr std::string_view kExtension = ".json";
  if (!path.ends_with(kExtension) || path.find('/') != std::string_view::npos) return {};
  return path.substr(0, path.size() - kExtension.size());
}

// "forward" if the last part of a path names the operator of a family ("forward" or
// "forward.json"), and the folder before it.
std::pair<std::string, std::string> split_operator_file(const std::string& kernel) {
  const std::filesystem::path path(kernel);
  const std::string file = path.filename().string();
  const std::string_view of_file = operator_of(file);
  const std::string parent = path.parent_path().string();
  return {parent.empty() ? "." : parent, of_file.empty() ? file : std::string(of_file)};
}

}  // namespace

std::vector<std::string> Catalog::shipped_families() {
  std::set<std::string> names;
  for (const std::string& op : shipped_operators()) names.insert(split_operator(op).first);
  return {names.begin(), names.end()};
}

std::vector<std::string> Catalog::shipped_operators() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(kShippedRoot)) continue;
    const std::string_view path = file.path.substr(kShippedRoot.size());
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos || path.substr(0, slash) == kCommon) continue;
    const std::string_view name = operator_of(path.substr(slash + 1));
    if (!name.empty()) names.push_back(fmt::format("{}.{}", path.substr(0, slash), name));
  }
  return names;
}

// The name of the family distinguishes operators, in results too, so no two folders may have the
// same name.
Status Catalog::check_name(const std::string& folder, const Family& family) const {
  for (const auto& [key, known] : families_) {
    if (known.name != family.name || is_shipped(key)) continue;
    return invalid_argument(
        fmt::format("{}: the folder {} has this name too, and operators of one "
                    "name would not be told apart",
                    folder, known.sources->folder));
  }
  return {};
}

Result<Catalog::Family*> Catalog::family(const std::string& name_or_folder) {
  const bool shipped = is_shipped(name_or_folder);
  const std::filesystem::path key =
      shipped ? std::filesystem::path(name_or_folder) : absolute_path(name_or_folder);
  const auto known = families_.find(key.string());
  if (known != families_.end()) return &known->second;
  SourceTree sources;
  if (shipped) {
    sources = embedded_source_tree(std::string(kShippedRoot) + name_or_folder);
  } else {
    MGTUNE_ASSIGN(sources, read_source_tree(file_system_, name_or_folder));
  }
  Family family;
  family.name = key.filename().string();
  for (const auto& [path, content] : sources.files) {
    if (const std::string_view name = operator_of(path); !name.empty()) {
      family.operators.emplace_back(name);
    }
  }
  if (family.operators.empty()) {
    return invalid_argument(sources.folder + ": no operator file (*.json) in this folder");
  }
  if (!shipped) MGTUNE_TRY(check_name(name_or_folder, family));
  std::ranges::sort(family.operators);
  family.sources = std::make_shared<const SourceTree>(std::move(sources));
  return &families_.emplace(key.string(), std::move(family)).first->second;
}

Result<const Operator*> Catalog::decoded(Family& family, const std::string& name) {
  const auto known = family.decoded.find(name);
  if (known != family.decoded.end()) return &known->second;
  MGTUNE_ASSIGN(Operator op, decode_operator(family.name, name, family.sources));
  MGTUNE_TRY(check_sources(op));
  const Operator& owned = family.decoded.emplace(name, std::move(op)).first->second;
  for (const Tensor& tensor : owned.tensors) {
    if (tensor.fill.kind != Fill::Kind::output) continue;
    Status fill = check_fill(family, owned, tensor);  // which may ask for this operator again
    if (fill.ok()) continue;
    family.decoded.erase(name);
    return fill;
  }
  return &owned;
}

// {"op": "rmsnorm.forward", "output": "rstd"} names an operator of the same family or a shipped
// one, and one of its outputs.
Status Catalog::check_fill(Family& family, const Operator& op, const Tensor& tensor) {
  const std::string place = op.place("/tensors/" + tensor.name + "/fill");
  const auto [source_family, source_name] = split_operator(tensor.fill.source_operator);
  Family* owner = source_family == family.name ? &family : nullptr;
  if (owner == nullptr && is_shipped(source_family)) {
    MGTUNE_ASSIGN(owner, this->family(source_family));
  }
  if (owner == nullptr || !std::ranges::binary_search(owner->operators, source_name)) {
    std::vector<std::string> names = shipped_operators();
    for (const std::string& name : family.operators) names.push_back(family.name + "." + name);
    const std::string& source = tensor.fill.source_operator;
    return invalid_argument(
        fmt::format("{}/op: unknown operator '{}'{}", place, source, did_you_mean(source, names)));
  }
  MGTUNE_ASSIGN(const Operator* source, decoded(*owner, source_name));
  std::vector<std::string> outputs;
  for (const Tensor& other : source->tensors) {
    if (other.role != Role::in) outputs.push_back(other.name);
  }
  const std::string& output = tensor.fill.source_output;
  if (std::ranges::find(outputs, output) != outputs.end()) return {};
  return invalid_argument(fmt::format("{}/output: {} has no output '{}'{}", place,
                                      source->full_name(), output, did_you_mean(output, outputs)));
}

// A name of kernels/ comes first, so that files in the current folder never change its meaning. A
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
  const bool is_path = kernel.find('/') != std::string::npos;
  if (is_path || kernel.ends_with(".json")) {
    const auto [parent, op] = split_operator_file(folder);
    if (file_system_.exists(parent + "/" + op + ".json")) {
      return Named{is_shipped(parent) ? "./" + parent : parent, op};
    }
    if (is_shipped(parent)) return Named{parent, op};
  }
  if (is_path) {
    return not_found(fmt::format("no folder '{}', and no operator's file of that name", kernel));
  }
  return not_found(fmt::format("unknown kernel '{}'{}, or the path of a family's folder", kernel,
                               must_be_one_of(prefix, shipped_families())));
}

Result<std::vector<const Operator*>> Catalog::find(const std::string& kernel) {
  MGTUNE_ASSIGN(const Named named, resolve(kernel));
  MGTUNE_ASSIGN(Family * found, family(named.family));
  std::vector<const Operator*> operators;
  for (const std::string& name : found->operators) {
    if (!named.op.empty() && name != named.op) continue;
    MGTUNE_ASSIGN(operators.emplace_back(), decoded(*found, name));
  }
  if (operators.empty()) {
    return not_found(fmt::format("{} has no operator '{}'{}", named.family, named.op,
                                 must_be_one_of(named.op, found->operators)));
  }
  return operators;
}

Result<std::vector<std::string>> Catalog::operator_words(const std::string& kernel) {
  MGTUNE_ASSIGN(const Named named, resolve(kernel));
  MGTUNE_ASSIGN(const Family* const found, family(named.family));
  std::vector<std::string> words;
  for (const std::string& name : found->operators) {
    if (named.op.empty() || name == named.op) words.push_back(named.family + "." + name);
  }
  if (!words.empty()) return words;
  return not_found(fmt::format("{} has no operator '{}'{}", named.family, named.op,
                               did_you_mean(named.op, found->operators)));
}

Result<const Operator*> Catalog::find_operator(const std::string& full_name) {
  const auto [family_name, operator_name] = split_operator(full_name);
  for (auto& [key, known] : families_) {  // folders first: '/' sorts before every name
    if (known.name == family_name && std::ranges::binary_search(known.operators, operator_name)) {
      return decoded(known, operator_name);
    }
  }
  if (operator_name.empty()) {
    std::vector<std::string> of_family = shipped_operators();
    std::erase_if(of_family, [&](const auto& name) { return !name.starts_with(full_name + "."); });
    return not_found(fmt::format("unknown operator '{}'; an operator is named family.operator{}{}",
                                 full_name, of_family.empty() ? "" : ": ",
                                 fmt::join(of_family, ", ")));
  }
  if (!is_shipped(family_name)) {
    return not_found(fmt::format("unknown operator '{}'{}", full_name,
                                 did_you_mean(full_name, shipped_operators())));
  }
  MGTUNE_ASSIGN(const std::vector<const Operator*> found, find(full_name));
  return found.front();
}

}  // namespace mgtune
