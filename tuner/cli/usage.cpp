#include "cli/usage.h"

namespace mgtune {

bool OptionUsage::names_folder() const {
  return placeholder.find("DIR") != std::string::npos ||
         placeholder.find("FOLDER") != std::string::npos;
}

bool OptionUsage::names_file() const {
  const bool is_file_word = placeholder.empty() && (word.starts_with("FILE") || word.size() == 1);
  return is_file_word || placeholder.find("FILE") != std::string::npos;
}

}  // namespace mgtune
