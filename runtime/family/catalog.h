// Catalog: the families at hand, those that travel in the binary and those of users' folders.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/file_system.h"
#include "core/status.h"
#include "family/operator.h"

namespace mgtune {

struct Family {
  std::string name;  // of its folder
  std::shared_ptr<const SourceTree> sources;
  std::vector<Operator> operators;  // by name
};

// Decodes every *.json of the tree's top level as an operator of the family. invalid_argument with
// file, path and place for the first malformed one, for a source that is not in the tree, and when
// there is no operator.
Result<Family> load_family(SourceTree sources);

// Owns families at stable addresses; every operator that a tensor is filled from is there. Not
// thread-safe while families are added.
class Catalog {
 public:
  // The families of kernels/. They are decoded when first asked for.
  explicit Catalog(FileSystem& file_system) : file_system_(file_system) {}

  // "rmsnorm", "rmsnorm.forward", or a folder ("path/to/my_family", optionally ending in
  // ".operator"): the operators meant, in order. A shipped family goes before a folder of that
  // name; "./rmsnorm" is always a folder. not_found with "did you mean" for a word that is none of
  // these.
  Result<std::vector<const Operator*>> find(const std::string& kernel);

  // One operator by its full name "rmsnorm.forward". not_found for a word that is none, with
  // those of a family where the word is the family's name alone.
  Result<const Operator*> find_operator(const std::string& full_name);

  static std::vector<std::string> shipped_families();  // names, sorted

 private:
  struct Named {
    std::string family;  // a shipped name or a folder
    std::string op;      // "" for all of them
  };
  Result<Named> resolve(const std::string& kernel);
  Result<const Family*> family(const std::string& name_or_folder);
  Status check_fills(const Family& family);
  Status check_fill(const Family& family, const Operator& op, const Tensor& tensor);
  std::vector<std::string> full_names(const Family* more);

  FileSystem& file_system_;
  std::map<std::string, std::unique_ptr<Family>> families_;
};

}  // namespace mgtune
