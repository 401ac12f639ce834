// Catalog: the families at hand, those that travel in the binary and those of users' folders.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "system/file_system.h"
#include "core/status.h"
#include "family/operator.h"

namespace mgtune {

// Owns operators at stable addresses. Not thread-safe: what is not decoded yet is decoded when it
// is asked for.
class Catalog {
 public:
  // The families of kernels/. A folder is read once. An operator is decoded when first asked for,
  // with those whose outputs its tensors are filled from: most programs plan a few of them.
  explicit Catalog(FileSystem& file_system) : file_system_(file_system) {}

  // "rmsnorm", "rmsnorm.forward", or a folder ("path/to/my_family", optionally ending in
  // ".operator"): the operators meant, in order. A shipped family goes before a folder of that
  // name; "./rmsnorm" is always a folder. not_found with "did you mean" for a word that is none of
  // these; invalid_argument with file, path and place for the first malformed one of those meant,
  // for a source that is not in the folder, for a folder without an operator, and for a second
  // folder of the same name.
  Result<std::vector<const Operator*>> find(const std::string& kernel);

  // One operator by its full name "rmsnorm.forward", of a folder that find() was asked for, or else
  // a shipped one. not_found for a word that is none, with those of a family where the word is the
  // family's name alone; invalid_argument as find().
  Result<const Operator*> find_operator(const std::string& full_name);

  static std::vector<std::string> shipped_families();  // names, sorted

 private:
  struct Named {
    std::string family;  // a shipped name or a folder
    std::string op;      // "" for all of them
  };
  // A folder of operators: a file each, decoded or not.
  struct Family {
    std::string name;  // of its folder
    std::shared_ptr<const SourceTree> sources;
    std::vector<std::string> operators;       // names, sorted
    std::map<std::string, Operator> decoded;  // by name
  };
  Result<Named> resolve(const std::string& kernel);
  Result<Family*> family(const std::string& name_or_folder);
  Status check_name(const std::string& folder, const Family& family) const;
  Result<const Operator*> decoded(Family& family, const std::string& name);
  Status check_fills(Family& family, const Operator& op);
  Status check_fill(Family& family, const Operator& op, const Tensor& tensor);

  FileSystem& file_system_;
  std::map<std::string, Family> families_;  // by name those that ship, by absolute path folders
};

}  // namespace mgtune
