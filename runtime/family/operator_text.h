// OperatorText: an operator file as one JSON value, merged over the file that it extends.
// Immutable once read: any number of threads may read it.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "family/source_tree.h"
#include "json/json_value.h"

namespace mgtune {

struct OperatorText {
  JsonValue value;                 // without "extends"; JsonValue::file is an index of `files`
  std::vector<std::string> files;  // as messages name them: the operator's own, its base, ...

  // The file in which the value at a JSON pointer stands. If nothing stands there: the file of the
  // innermost value around it.
  const std::string& file_of(const std::string& pointer) const;
};

// Reads NAME.json of a family. The file may have a key "extends": the path of another JSON file of
// the family, over which it is merged (merge_json()). That file may extend another one in turn, up
// to 4 files in all. invalid_argument with the file and the place if a file is missing or
// malformed, and if the files extend each other in a circle.
Result<OperatorText> read_operator_text(const SourceTree& sources, const std::string& name);

}  // namespace mgtune
