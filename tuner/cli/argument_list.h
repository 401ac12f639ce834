// ArgumentList: what a subcommand takes. parse.cpp, the only file that includes CLI11 (3.6 s a
// compile), implements it.

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

  // `name` is "--gpu" or "-o,--output"; `placeholder` stands for the value in --help. What a
  // variable holds on declaring is its default. The variables outlive parsing.
  void flag(const std::string& name, bool& variable, const std::string& help);
  void value(const std::string& name, std::string& variable, const std::string& placeholder,
             const std::string& help);
  void required(const std::string& name, std::string& variable, const std::string& placeholder,
                const std::string& help);
  void integer(const std::string& name, std::uint64_t& variable, const std::string& placeholder,
               const std::string& help);

  // May stand several times.
  void values(const std::string& name, std::vector<std::string>& variable,
              const std::string& placeholder, const std::string& help);

  // Words without an option in front, in order. With `choices`, one of them.
  void word(const std::string& name, std::string& variable, const std::vector<std::string>& choices,
            const std::string& help);
  void words(const std::string& name, std::vector<std::string>& variable, const std::string& help);

 private:
  CLI::App& app_;
};

}  // namespace mgtune
