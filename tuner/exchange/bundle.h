// Bundle: one file with the results that a site shares: tuned tables, which name the environment
// that measured them, and, if there are any, rules for problems that nobody tuned. Each part has
// its SHA-256, so damage is found before anything is imported. The hash does not prove who made the
// bundle.
//
//   {"format": 1, "bundle": [{"name": "nvidia-h200.rmsnorm.forward.tuned.json",
//                             "sha256": "...", "text": "{...}"}]}
//
// A bundle has no path and no host name: commands are left out of rules, and a part that still has
// one is refused. Pure, except for the functions that take a FileSystem.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "json/json_cursor.h"
#include "system/file_system.h"

namespace mgtune {

struct BundlePart {
  // "nvidia-h200.rmsnorm.forward.tuned.json", "rules/nvidia-h200/rmsnorm.forward.rules.json"
  std::string name;
  std::string text;

  bool is_rules() const { return name.starts_with("rules/"); }
};

// The parts in the order of their names. invalid_argument, with the part and the text, if a part
// has an absolute path or `host`, the name of this machine.
Result<std::string> bundle_document(std::vector<BundlePart> parts, const std::string& host);

bool is_bundle(const JsonCursor& root);

// corrupt if a part is damaged, is there twice, or has a name that is none of the two forms above.
Result<std::vector<BundlePart>> read_bundle(const JsonCursor& root);

// The rules that lie in the folder rules/GPU beside a database, without the commands that made
// them. Empty if there are none.
Result<std::vector<BundlePart>> rules_beside(FileSystem& files, const std::string& database);

// The rules in those of the files that are bundles.
Result<std::vector<BundlePart>> bundled_rules(FileSystem& files,
                                              const std::vector<std::string>& paths);

}  // namespace mgtune
