#include <CLI/CLI.hpp>
#include <iostream>

#include "command/command.h"
#include "core/text.h"
#include "core/version.h"

namespace mgtune::engine {
namespace {

constexpr const char* kEngineAbout =
    "mgengine generates text with language models of the Llama, Mistral, Qwen2 and GPT-2 "
    "families.\n"
    "\n"
    "A model is a folder of Hugging Face (config.json, model.safetensors, tokenizer.json), or a "
    "file\n"
    "of llama2.c (MODEL.bin, and its tokenizer tok*.bin in the same folder).\n";

constexpr const char* kEngineFooter =
    "Exit codes: 0 success, 1 a check failed, 2 an argument is wrong or something is not "
    "supported,\n"
    "4 this machine lacks something, 5 a file is missing or damaged, 70 a bug.\n"
    "\n"
    "mgengine COMMAND --help describes a command.";

// A shell passes an empty word for a variable that is not set.
std::string is_not_empty(const std::string& word) {
  return word.empty() ? "needs a value, but got an empty one" : "";
}

CLI::Validator is_choice(const std::vector<std::string>& choices) {
  const auto check = [choices](const std::string& word) -> std::string {
    if (std::ranges::find(choices, word) != choices.end()) return "";
    return "unknown word '" + word + "'" + must_be_one_of(word, choices);
  };
  return {check, ""};
}

// CLI11 itself reads "-1" as the largest number, and a number that does not fit as another number.
template <typename Number>
CLI::Validator is_number(Number min, Number max, const std::string& expected) {
  const auto check = [=](const std::string& word) -> std::string {
    const std::optional<Number> number = parse_number<Number>(word);
    if (number && *number >= min && *number <= max) return "";
    return "expected " + expected + ", got '" + word + "'";
  };
  return {check, ""};
}

std::string suggested_command(const std::string& word, const std::vector<NamedCommand>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const NamedCommand& command : commands) names.push_back(command.name);
  return "unknown command '" + word + "'" + must_be_one_of(word, names);
}

}  // namespace

void ArgumentList::flag(const std::string& name, bool& variable, const std::string& help) {
  app_.add_flag(name, variable, help);
}

void ArgumentList::value(const std::string& name, std::string& variable,
                         const std::string& placeholder, const std::string& help) {
  app_.add_option(name, variable, help)->type_name(placeholder);
}

void ArgumentList::required(const std::string& name, std::string& variable,
                            const std::string& placeholder, const std::string& help) {
  app_.add_option(name, variable, help)
      ->type_name(placeholder)
      ->required()
      ->check(is_not_empty, "");
}

void ArgumentList::integer(const std::string& name, std::uint32_t& variable, std::uint32_t min,
                           std::uint32_t max, const std::string& help) {
  const std::string range = std::to_string(min) + " to " + std::to_string(max);
  app_.add_option(name, variable, help)
      ->type_name("N")
      ->check(is_number(min, max, "an integer from " + range));
}

void ArgumentList::seed(const std::string& name, std::uint64_t& variable, const std::string& help) {
  app_.add_option(name, variable, help)
      ->type_name("N")
      ->check(is_number<std::uint64_t>(0, UINT64_MAX, "an integer from 0 to 2^64 - 1"));
}

void ArgumentList::number(const std::string& name, double& variable, double min, double max,
                          const std::string& help) {
  const auto text = [](double value) { return CLI::detail::to_string(value); };
  app_.add_option(name, variable, help)
      ->type_name("X")
      ->check(is_number(min, max, "a number from " + text(min) + " to " + text(max)));
}

void ArgumentList::choice(const std::string& name, std::string& variable,
                          const std::vector<std::string>& choices, const std::string& placeholder,
                          const std::string& help) {
  app_.add_option(name, variable, help)->type_name(placeholder)->check(is_choice(choices));
}

void ArgumentList::word(const std::string& name, std::string& variable,
                        const std::vector<std::string>& choices, const std::string& help) {
  app_.add_option(name, variable, help)->type_name("")->required()->check(is_choice(choices));
}

Result<Command*> parse(int argc, const char* const* argv,
                       const std::vector<NamedCommand>& commands) {
  CLI::App app(kEngineAbout, "mgengine");
  app.set_version_flag("-V,--version", "mgengine " + std::string(mgtune_version()),
                       "Print the version");
  app.footer(kEngineFooter);
  app.require_subcommand(0, 1);
  app.option_defaults()->always_capture_default();
  for (const NamedCommand& command : commands) {
    CLI::App* const subcommand = app.add_subcommand(command.name, command.summary);
    subcommand->option_defaults()->always_capture_default();
    subcommand->footer(command.command->details());
    ArgumentList arguments(*subcommand);
    command.command->declare(arguments);
  }
  if (argc < 2) {
    std::cout << app.help();
    return nullptr;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return nullptr;
  } catch (const CLI::CallForVersion& text) {
    std::cout << text.what() << '\n';
    return nullptr;
  } catch (const CLI::ParseError& error) {
    const bool is_command = argv[1][0] != '-' && app.get_subcommands().empty();
    return invalid_argument(is_command ? suggested_command(argv[1], commands) : error.what());
  }
  for (const NamedCommand& command : commands) {
    if (app.got_subcommand(command.name)) return command.command.get();
  }
  return invalid_argument("no command; mgengine --help lists them");
}

}  // namespace mgtune::engine
