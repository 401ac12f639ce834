#include "cli/output_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace mgtune {

Status write_output(const std::string& path, std::string_view what, std::string_view content) {
  constexpr std::string_view kDatabase = "SQLite format 3";
  std::string start(kDatabase.size(), '\0');
  if (std::ifstream(path, std::ios::binary).read(start.data(), std::streamsize(start.size())) &&
      start == kDatabase) {
    return invalid_argument(path + " is a database; " + std::string(what) + " would replace it");
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (file) return {};
  return io_error("cannot write " + path + ": " + std::strerror(errno));
}

}  // namespace mgtune
