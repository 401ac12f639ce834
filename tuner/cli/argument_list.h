// ArgumentList: the arguments of a subcommand. parse.cpp implements it, the only file that includes
// CLI11, which takes 3.6 s to compile.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mgtune {

class ArgumentList {
 public:
  explicit ArgumentList(CLI::App& app) : app_(app) {}

  // `name` is "--gpu" or "-o,--output"; `placeholder` stands for the value in --help. The value
  // that a variable has now is its default. The variables outlive parsing.
  void flag(const std::string& name, bool& variable, const std::string& help);
  void value(const std::string& name, std::string& variable, const std::string& placeholder,
             const std::string& help);
  void required(const std::string& name, std::string& variable, const std::string& placeholder,
                const std::string& help);
  void integer(const std::string& name, std::uint64_t& variable, const std::string& placeholder,
               const std::string& help);

  // The options that many subcommands share.
  void database(std::string& variable);  // --db
  void json(bool& variable);             // --json

  // An option that may be repeated.
  void values(const std::string& name, std::vector<std::string>& variable,
              const std::string& placeholder, const std::string& help);

  // Arguments without an option name, in order. If there are `choices`, the word is one of them.
  void word(const std::string& name, std::string& variable, const std::vector<std::string>& choices,
            const std::string& help);
  void words(const std::string& name, std::vector<std::string>& variable, const std::string& help);

 private:
  CLI::App& app_;
};

}  // namespace mgtune
