#include "scaffold/new_family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/text.h"
#include "family/catalog.h"
#include "json/json_cursor.h"
#include "scaffold/operator_guide.h"
#include "scaffold/template_files.h"

namespace mgtune {
namespace {

constexpr std::string_view kTemplates = "tuner/scaffold/templates/";

std::string purpose_of(std::string_view file) {
  if (file.ends_with(".json")) return "the operator: its dims, tensors, check, problems and space";
  if (file == "reference.cu") return "what the kernel must compute, in double precision";
  return "the kernel, a template over its tunables";
}

}  // namespace

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : template_files()) {
    const std::string_view path = file.path.substr(kTemplates.size());
    const std::string name(path.substr(0, path.find('/')));
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

Result<NewFamily> family_like(const std::string& name) {
  const std::vector<std::string> names = template_names();
  if (std::ranges::find(names, name) == names.end()) {
    return invalid_argument(fmt::format("--like takes {}, but got '{}'{}", fmt::join(names, ", "),
                                        name, did_you_mean(name, names)));
  }
  NewFamily family;
  const std::string folder = std::string(kTemplates) + name + "/";
  for (const EmbeddedFile& file : template_files()) {
    if (!file.path.starts_with(folder)) continue;
    const std::string_view path = file.path.substr(folder.size());
    NewFile added{std::string(path), std::string(file.content), purpose_of(path)};
    if (path.ends_with(".json")) {
      family.operator_name = path.substr(0, path.size() - 5);
      family.files.insert(family.files.begin(), std::move(added));
    } else {
      family.files.push_back(std::move(added));
    }
  }
  return family;
}

Result<std::string> family_name_of(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  if (!is_identifier(name)) {
    return invalid_argument(
        fmt::format("the folder's name '{}' becomes the name of the family, so it must be a C "
                    "identifier: letters, "
                    "digits and '_', such as my_kernel",
                    name));
  }
  const std::vector<std::string> shipped = Catalog::shipped_families();
  if (std::ranges::find(shipped, name) != shipped.end()) {
    return invalid_argument(fmt::format(
        "a family '{}' is built into mgtune; choose another name for the folder", name));
  }
  return name;
}

Status write_family(FileSystem& file_system, const std::string& folder, const NewFamily& family) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(folder, error);
  if (std::filesystem::exists(status)) {
    if (!std::filesystem::is_directory(status)) {
      return invalid_argument(folder + " exists and is not a folder; choose another name");
    }
    if (!std::filesystem::is_empty(folder, error) || error) {
      return invalid_argument(
          folder +
          " exists and is not empty; mgtune new overwrites nothing. Choose another "
          "name, or empty the folder");
    }
  }
  MGTUNE_ASSIGN(const std::string guide, operator_guide(folder, family));
  MGTUNE_TRY(file_system.create_directories(folder, 0777));
  const std::string prefix = folder + (folder.ends_with('/') ? "" : "/");
  for (const NewFile& file : family.files) {
    const std::size_t slash = file.name.rfind('/');
    if (slash != std::string::npos) {
      MGTUNE_TRY(file_system.create_directories(prefix + file.name.substr(0, slash), 0777));
    }
    MGTUNE_TRY(write_output(prefix + file.name, "the family", file.content));
  }
  return write_output(prefix + "README.md", "the family", guide);
}

}  // namespace mgtune
