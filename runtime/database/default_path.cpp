#include "database/default_path.h"

#include "system/user_folders.h"

namespace mgtune {

Result<std::string> default_database_path() {
  if (std::string file = environment_variable("MGTUNE_DB"); !file.empty()) return file;
  const std::string folder = user_data_folder();
  if (!folder.empty()) return folder + "/results.db";
  return environment_error(
      "there is no place for the results database: " + why_no_user_folder("XDG_DATA_HOME") +
      "; set XDG_DATA_HOME to an absolute path, or name the database (--db, "
      "MGTUNE_DB)");
}

}  // namespace mgtune
