#include "plan/variant_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <utility>

#include "family/variant.h"

namespace mgtune {

Result<VariantLists> load_variant_list(FileSystem& file_system, const std::string& path,
                                       const std::vector<const Operator*>& operators) {
  MGTUNE_ASSIGN(std::string content, file_system.read_file(path));
  std::istringstream lines(std::move(content));
  VariantLists lists;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    const std::string text = line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    bool is_known = false;
    std::string mistake;
    for (const Operator* op : operators) {
      Result<Variant> variant = parse_variant(*op, text);
      if (!variant.ok()) {
        mistake = variant.status().message();
        continue;
      }
      is_known = true;
      std::vector<Variant>& list = lists[op->full_name()];
      if (std::ranges::count(list, *variant) == 0) list.push_back(*std::move(variant));
    }
    if (!is_known) return invalid_argument(fmt::format("{}, line {}: {}", path, number, mistake));
  }
  if (lists.empty()) return invalid_argument(path + " has no variant");
  return lists;
}

}  // namespace mgtune
