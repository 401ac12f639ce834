#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <iostream>
#include <set>

#include "cli/command.h"
#include "core/text.h"
#include "scaffold/device_part.h"
#include "scaffold/family_from_kernel.h"
#include "scaffold/new_family.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

// Adds the headers that the kernel's file includes, directly or through other headers. Only headers
// below the folder of this file can be copied.
Status add_headers(FileSystem& files, const std::string& folder, const CudaSource& source,
                   std::set<std::string>& known, NewFamily& family) {
  for (const std::string& name : device_part(source).included) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    if (!known.insert(name).second) continue;
    if (name.find("..") != std::string::npos || !files.exists(path)) {
      family.to_decide.push_back(
          fmt::format("#include \"{}\": copy this header into the new folder by hand", name));
      continue;
    }
    MGTUNE_ASSIGN(std::string text, files.read_file(path));
    const CudaSource header = read_cuda_source(name, text);
    family.files.push_back(
        {name, std::move(text), "a copy of the header that the kernel includes"});
    MGTUNE_TRY(add_headers(files, folder, header, known, family));
  }
  return {};
}

void print_list(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  std::cout << '\n' << title << '\n';
  for (const std::string& line : lines) std::cout << "  " << line << '\n';
}

class NewCommand final : public Command {
 public:
  std::string details() const override {
    return "DIR must not exist, or be empty. Its name becomes the name of the family. --from "
           "copies "
           "the\nkernel, reads its signature, and says what it guessed and what you must decide.\n"
           "Examples: mgtune new my_add\n"
           "          mgtune new my_softmax --like reduction\n"
           "          mgtune new my_kernel --from kernel.cu --kernel my_kernel";
  }
  void declare(ArgumentList& arguments) override {
    arguments.word("DIR", folder_, {}, "The folder to write");
    arguments.value("--like", like_, "NAME",
                    fmt::format("The kernel to begin with: {} (default: elementwise)",
                                fmt::join(template_names(), ", ")));
    arguments.value("--from", from_, "FILE", "A .cu file with your __global__ function");
    arguments.value("--kernel", kernel_, "NAME", "The function, if FILE has several");
  }
  Result<ExitCode> run(const Invocation&) override {
    if (!from_.empty() && !like_.empty()) {
      return invalid_argument("--like and --from exclude each other");
    }
    if (from_.empty() && !kernel_.empty()) {
      return invalid_argument("--kernel names a function of a file, so it needs --from");
    }
    MGTUNE_ASSIGN(const std::string name, family_name_of(folder_));
    MGTUNE_ASSIGN(const NewFamily family, from_.empty()
                                              ? family_like(like_.empty() ? "elementwise" : like_)
                                              : family_from_file(name));
    MGTUNE_TRY(write_family(FileSystem::real(), folder_, family));
    print(name, family);
    return ExitCode::ok;
  }

 private:
  Result<NewFamily> family_from_file(const std::string& name) const {
    FileSystem& files = FileSystem::real();
    MGTUNE_ASSIGN(std::string text, files.read_file(from_));
    const CudaSource source = read_cuda_source(from_, std::move(text));
    MGTUNE_ASSIGN(NewFamily family, family_from_kernel(source, kernel_, name));
    std::set<std::string> known;
    const std::string folder = std::filesystem::path(from_).parent_path().string();
    MGTUNE_TRY(add_headers(files, folder, source, known, family));
    return family;
  }

  void print(const std::string& name, const NewFamily& family) const {
    std::cout << fmt::format("wrote the operator {}.{}:\n", name, family.operator_name);
    const std::string prefix = folder_ + (folder_.ends_with('/') ? "" : "/");
    for (const NewFile& file : family.files) {
      std::cout << fmt::format("  {}{}: {}\n", prefix, file.name, file.purpose);
    }
    std::cout << fmt::format("  {}README.md: the operator file explained key by key\n", prefix);
    print_list("Read or guessed from the kernel:", family.guesses);
    print_list("You must decide:", family.to_decide);
    const std::string folder = shell_word(folder_);
    std::cout << fmt::format("\nnext: mgtune check {0}\nthen: mgtune sweep --kernel {0}\n", folder);
  }

  std::string folder_, like_, from_, kernel_;
};

}  // namespace

std::unique_ptr<Command> make_new_command() { return std::make_unique<NewCommand>(); }

}  // namespace mgtune
