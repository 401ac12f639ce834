// CommandUsage: the words of a command as data, read from the same declarations that parse them.
// Help texts, man pages and completion scripts are made from it. Plain data.

#pragma once

#include <string>
#include <vector>

namespace mgtune {

struct OptionUsage {
  std::vector<std::string> names;  // "-o", "--output"; empty if it has no option name
  std::string word;                // "FILE" if it may be given without a name, otherwise ""
  bool takes_value = false;        // false: a flag
  std::string placeholder;         // of the value: "NAME|DIR"
  bool is_repeated = false;
  bool is_required = false;
  std::string help;
  std::vector<std::string> proposals;  // what completion offers; there may be other valid values

  // Whether the value may be a path: of a folder, or of any file.
  bool names_folder() const;
  bool names_file() const;
};

struct CommandUsage {
  std::string name;     // "sweep"; "" for the program itself
  std::string summary;  // one line
  std::string details;  // the paragraphs below the options
  std::string help;     // all of --help
  bool is_hidden = false;
  std::vector<OptionUsage> options;
};

// The program itself, then its commands in the order of the overview.
std::vector<CommandUsage> describe_commands();

}  // namespace mgtune
