// NewFamily: the files of a family that `mgtune new` will write, and what to tell the user about
// them. Plain data; pure functions except write_family().

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "system/file_system.h"

namespace mgtune {

struct NewFile {
  std::string name, content;
  std::string purpose;  // one line for the list of files
};

struct NewFamily {
  std::string operator_name;           // "add"
  std::vector<NewFile> files;          // the operator file first
  std::vector<std::string> guesses;    // what was read or guessed from a kernel, one line each
  std::vector<std::string> to_decide;  // what only the user knows, most important first
};

// The words that --like takes: the folders of templates/, sorted.
std::vector<std::string> template_names();

// The family of templates/NAME. invalid_argument with the list of names if there is none.
Result<NewFamily> family_like(const std::string& name);

// The name that a family gets from its folder. invalid_argument if the name is not a C identifier,
// or if a built-in family has this name.
Result<std::string> family_name_of(const std::string& folder);

// Writes the files. invalid_argument if `folder` exists and is not an empty folder; io if a file
// cannot be written.
Status write_family(FileSystem& file_system, const std::string& folder, const NewFamily& family);

}  // namespace mgtune
