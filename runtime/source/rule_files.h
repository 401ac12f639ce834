// RuleFiles: the rules files that a program reads: those that `mgtune fit` wrote beside a database
// (FOLDER/rules/GPU/OPERATOR.rules.json), those in a pack, and those that are installed with the
// library. A file is read when its operator is asked for. One thread at a time.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "family/operator.h"
#include "selection/rules.h"

namespace mgtune {

// Where `mgtune fit` writes the rules of a database, and where programs look for them.
std::string rules_folder_of(std::string_view database);

class RuleFiles {
 public:
  // Adds the rules files below the folder; none if it does not exist. Files of folders that were
  // added earlier come first.
  void add_folder(const std::string& folder);
  void add_installed();
  // Adds rules of the operator that were read already; `name` is for messages.
  void add_text(const std::string& op, const std::string& name, std::string text);

  bool empty() const { return files_.empty(); }

  struct Loaded {
    std::vector<Rules> rules;           // at most one per GPU; `op` must outlive them
    std::vector<std::string> texts;     // of the same files
    std::vector<std::string> failures;  // what is wrong with a file, with its name
  };
  Loaded load(const Operator& op) const;

  // The operators that have rules, by the names of the files; sorted.
  std::vector<std::string> operators() const;

 private:
  struct File {
    std::string op, path;
    std::optional<std::string> text;  // if it is known already
  };
  std::vector<File> files_;
};

}  // namespace mgtune
