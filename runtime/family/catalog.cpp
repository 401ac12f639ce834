#include "family/catalog.h"

#include <fmt/format.h>

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
  return owned.get();
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
  if (!is_shipped(family_name) || operator_name.empty()) {
    return not_found(fmt::format("unknown operator '{}'{}", full_name,
                                 did_you_mean(family_name, shipped_families())));
  }
  MGTUNE_ASSIGN(const std::vector<const Operator*> found, find(full_name));
  return found.front();
}

}  // namespace mgtune
