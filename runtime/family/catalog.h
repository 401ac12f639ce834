// Catalog: the available families: those that are embedded in the binary and those of users'
// folders. It owns the operators; their addresses do not change. Not thread-safe, because an
// operator is decoded when somebody asks for it.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/operator.h"
#include "system/file_system.h"

namespace mgtune {

class Catalog {
 public:
  // Starts with the families of kernels/. Each folder is read once. An operator is decoded when it
  // is first asked for, together with the operators whose outputs fill its tensors, because most
  // programs plan only a few operators.
  explicit Catalog(FileSystem& file_system) : file_system_(file_system) {}

  // `kernel` is "rmsnorm", "rmsnorm.forward", or a folder ("path/to/my_family"). An operator of a
  // folder is "path/to/my_family.forward", "path/to/my_family/forward" or the same with ".json".
  // These forms also name shipped operators if there is no such folder. Returns the operators that
  // it means, in order. A shipped family has precedence over a folder of the same name; "./rmsnorm"
  // is always a folder. not_found, with the valid names, if it is none of these. invalid_argument,
  // with file, path and place, for the first malformed operator among them, for a source that is
  // not in the folder, for a folder without an operator, and for a second folder of the same name.
  Result<std::vector<const Operator*>> find(const std::string& kernel);

  // For each operator that `kernel` means, the word that means only this operator:
  // "path/to/my_family.forward". Nothing is decoded, so the operator files may have mistakes. Fails
  // in all other cases in which find() fails.
  Result<std::vector<std::string>> operator_words(const std::string& kernel);

  // Returns one operator by its full name "rmsnorm.forward". Folders for which find() was called
  // are searched first, then the shipped families. not_found if there is no such operator; if the
  // name is only the name of a family, the message lists its operators. invalid_argument as for
  // find().
  Result<const Operator*> find_operator(const std::string& full_name);

  static std::vector<std::string> shipped_families();   // names, sorted
  static std::vector<std::string> shipped_operators();  // full names; the files need not be valid

 private:
  struct Named {
    std::string family;  // a shipped name or a folder
    std::string op;      // "" for all of them
  };
  // A folder of operators, one file each. An operator may be decoded or not.
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
  Status check_fill(Family& family, const Operator& op, const Tensor& tensor);

  FileSystem& file_system_;
  std::map<std::string, Family> families_;  // shipped families by name, folders by absolute path
};

}  // namespace mgtune
