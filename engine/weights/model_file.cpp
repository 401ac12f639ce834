#include "weights/model_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "system/file_system.h"

namespace mgtune::engine {

Result<std::string> read_model_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return io_error(fmt::format("{}: this is not a file", path));
  }
  return FileSystem::real().read_file(path);
}

}  // namespace mgtune::engine
