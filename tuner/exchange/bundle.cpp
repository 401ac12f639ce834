#include "exchange/bundle.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "core/sha256.h"
#include "exchange/read_document.h"
#include "json/json.h"
#include "json/json_value.h"

namespace mgtune {
namespace {

constexpr std::int64_t kBundleFormat = 1;
constexpr std::string_view kRulesFolder = "rules/";
constexpr std::string_view kRulesEnding = ".rules.json";
constexpr std::string_view kTableEnding = ".tuned.json";

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
}

// Accepts only names that can safely be written below a folder.
bool is_part_name(std::string_view name) {
  if (!name.starts_with(kRulesFolder)) return is_plain_name(name) && name.ends_with(kTableEnding);
  name.remove_prefix(kRulesFolder.size());
  const std::size_t slash = name.find('/');
  return slash != std::string_view::npos && is_plain_name(name.substr(0, slash)) &&
         is_plain_name(name.substr(slash + 1)) && name.ends_with(kRulesEnding);
}

// The first absolute path in a text, or "".
std::string path_in(std::string_view text) {
  constexpr std::string_view kBefore = "\"' =:,;(";
  constexpr std::string_view kEnd = "\"' ,;)";
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    const bool begins = text[i] == '/' && kBefore.find(text[i - 1]) != std::string_view::npos;
    const bool goes_on = std::isalnum(static_cast<unsigned char>(text[i + 1])) != 0;
    if (begins && goes_on) return std::string(text.substr(i, text.find_first_of(kEnd, i) - i));
  }
  return "";
}

// The text with "" for the value of each member "command". JSON that we wrote has one blank there.
std::string without_commands(std::string text) {
  constexpr std::string_view kMember = "\"command\": \"";
  std::size_t at = 0;
  while ((at = text.find(kMember, at)) != std::string::npos) {
    at += kMember.size();
    std::size_t end = at;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    text.erase(at, std::min(end, text.size()) - at);
  }
  return text;
}

Result<BundlePart> read_part(const JsonCursor& json) {
  MGTUNE_TRY(json.expect_keys({"name", "sha256", "text"}));
  BundlePart part;
  std::string sha256;
  MGTUNE_TRY(json.read("name", part.name));
  MGTUNE_TRY(json.read("sha256", sha256));
  MGTUNE_TRY(json.read("text", part.text));
  if (!is_part_name(part.name)) {
    return json.at("name").unexpected("NAME.tuned.json or rules/GPU/NAME.rules.json");
  }
  if (sha256_hex(part.text) != sha256) {
    return json.at("text").error("it is damaged: its SHA-256 is not that of the bundle");
  }
  return part;
}

}  // namespace

Result<std::string> bundle_document(std::vector<BundlePart> parts, const std::string& host) {
  std::ranges::sort(parts, {}, &BundlePart::name);
  Json all = Json::array();
  for (const BundlePart& part : parts) {
    std::string found = path_in(part.text);
    if (found.empty() && !host.empty() && host != "localhost" &&
        part.text.find(host) != std::string::npos) {
      found = host;
    }
    if (!found.empty()) {
      return invalid_argument("a bundle has no paths and no host names, but " + part.name +
                              " has '" + found + "'");
    }
    all.push_back({{"name", part.name}, {"sha256", sha256_hex(part.text)}, {"text", part.text}});
  }
  return Json({{"format", kBundleFormat}, {"bundle", all}}).document_text();
}

bool is_bundle(const JsonCursor& root) { return root.find("bundle").has_value(); }

Result<std::vector<BundlePart>> read_bundle(const JsonCursor& root) {
  const auto read = [&]() -> Result<std::vector<BundlePart>> {
    MGTUNE_TRY(root.expect_keys({"format", "bundle"}));
    MGTUNE_ASSIGN(const std::int64_t format, root.at("format").integer());
    if (format != kBundleFormat) {
      return incompatible(root.at("format").unexpected("1, as no later format is known").message());
    }
    std::vector<BundlePart> parts;
    std::set<std::string> names;
    MGTUNE_ASSIGN(const std::vector<JsonCursor> all, root.at("bundle").elements());
    for (const JsonCursor& json : all) {
      MGTUNE_ASSIGN(BundlePart part, read_part(json));
      if (!names.insert(part.name).second) {
        return json.at("name").error(part.name + " is there twice");
      }
      parts.push_back(std::move(part));
    }
    return parts;
  };
  Result<std::vector<BundlePart>> parts = read();
  if (!parts.ok()) return as_corrupt(std::move(parts).take_status());
  return parts;
}

Result<std::vector<BundlePart>> rules_beside(FileSystem& files, const std::string& database) {
  std::vector<BundlePart> parts;
  const std::filesystem::path folder = std::filesystem::path(database).parent_path() / "rules";
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    const std::string name =
        std::string(kRulesFolder) + entry->path().lexically_relative(folder).string();
    if (!is_part_name(name)) continue;
    MGTUNE_ASSIGN(const std::string text, files.read_file(path));
    parts.push_back({name, without_commands(text)});
  }
  return parts;
}

Result<std::vector<BundlePart>> bundled_rules(FileSystem& files,
                                              const std::vector<std::string>& paths) {
  std::vector<BundlePart> rules;
  for (const std::string& path : paths) {
    MGTUNE_ASSIGN(const std::string text, read_document(files, path));
    MGTUNE_ASSIGN(const JsonValue value, parse_document(path, text));
    const JsonCursor root(path, value);
    if (!is_bundle(root)) continue;
    MGTUNE_ASSIGN(std::vector<BundlePart> parts, read_bundle(root));
    for (BundlePart& part : parts) {
      if (!part.is_rules()) continue;
      MGTUNE_TRY(parse_document(path + ": " + part.name, part.text).status());
      rules.push_back(std::move(part));
    }
  }
  return rules;
}

}  // namespace mgtune
