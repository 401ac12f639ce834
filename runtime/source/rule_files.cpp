#include "source/rule_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "json/json_value.h"
#include "source/installed_tables.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".rules.json";

Result<Rules> read_rule_file(const std::string& path, const Operator& op) {
  MGTUNE_ASSIGN(const std::string text, FileSystem::real().read_file(path));
  const Result<JsonValue> document = parse_json(text);
  if (!document.ok()) return corrupt(path + ": " + document.status().message());
  return read_rules(path, *document, op);
}

}  // namespace

std::string rules_folder_of(std::string_view database) {
  return (fs::path(database).parent_path() / "rules").string();
}

void RuleFiles::add_folder(const std::string& folder) {
  if (folder.empty() || !FileSystem::real().is_directory(folder)) return;
  const Result<std::vector<std::string>> names = FileSystem::real().list_files(folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (name.ends_with(kSuffix)) files_.push_back((fs::path(folder) / name).string());
  }
}

void RuleFiles::add_installed() { add_folder(InstalledTables::folder()); }

RuleFiles::Loaded RuleFiles::load(const Operator& op) const {
  Loaded loaded;
  const std::string wanted = rules_file_name(op.full_name());
  for (const std::string& path : files_) {
    if (fs::path(path).filename() != wanted) continue;
    Result<Rules> rules = read_rule_file(path, op);
    if (!rules.ok()) {
      loaded.failures.push_back(rules.status().message());
      continue;
    }
    const bool is_known = std::ranges::any_of(
        loaded.rules, [&](const Rules& known) { return is_same_gpu(known.gpu, rules->gpu); });
    if (!is_known) loaded.rules.push_back(*std::move(rules));
  }
  return loaded;
}

std::vector<std::string> RuleFiles::operators() const {
  std::set<std::string> names;
  for (const std::string& path : files_) {
    std::string name = fs::path(path).filename().string();
    name.resize(name.size() - kSuffix.size());
    names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

}  // namespace mgtune
