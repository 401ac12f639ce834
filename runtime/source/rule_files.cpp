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

Result<Rules> read_rule_text(const std::string& path, const std::string& text, const Operator& op) {
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
    if (!name.ends_with(kSuffix)) continue;
    const std::string path = (fs::path(folder) / name).string();
    std::string op = fs::path(path).filename().string();
    op.resize(op.size() - kSuffix.size());
    files_.push_back({std::move(op), path, std::nullopt});
  }
}

void RuleFiles::add_text(const std::string& op, const std::string& name, std::string text) {
  files_.push_back({op, name, std::move(text)});
}

void RuleFiles::add_installed() { add_folder(InstalledTables::folder()); }

RuleFiles::Loaded RuleFiles::load(const Operator& op) const {
  Loaded loaded;
  for (const File& file : files_) {
    if (file.op != op.full_name()) continue;
    Result<std::string> text =
        file.text ? Result(*file.text) : FileSystem::real().read_file(file.path);
    Result<Rules> rules =
        text.ok() ? read_rule_text(file.path, *text, op) : Result<Rules>(text.status());
    if (!rules.ok()) {
      loaded.failures.push_back(rules.status().message());
      continue;
    }
    const bool is_known = std::ranges::any_of(
        loaded.rules, [&](const Rules& known) { return is_same_gpu(known.gpu, rules->gpu); });
    if (is_known) continue;
    loaded.rules.push_back(*std::move(rules));
    loaded.texts.push_back(*std::move(text));
  }
  return loaded;
}

std::vector<std::string> RuleFiles::operators() const {
  std::set<std::string> names;
  for (const File& file : files_) names.insert(file.op);
  return {names.begin(), names.end()};
}

}  // namespace mgtune
