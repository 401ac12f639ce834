#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>

#include "cli/command.h"
#include "cli/usage.h"
#include "core/text.h"
#include "core/version.h"
#include "device/gpu_catalog.h"
#include "family/catalog.h"
#include "results/result_words.h"

namespace mgtune {
namespace {

// A shell passes an empty word for a variable that is not set. Using the default instead would hide
// that mistake.
std::string not_empty(const std::string& word) {
  return word.empty() ? "needs a value, but got an empty one" : "";
}

// CLI11 would read "-1" as the largest number, and would change a number that does not fit.
std::string is_count(const std::string& word) {
  if (parse_number<std::uint64_t>(word)) return "";
  return "expected an integer from 0 to 2^64 - 1, got '" + word + "'";
}

// `kind` is what the message calls the word: "strategy".
CLI::Validator one_of(const std::vector<std::string>& choices, const std::string& kind) {
  const auto is_choice = [choices, kind](const std::string& word) -> std::string {
    if (std::ranges::find(choices, word) != choices.end()) return "";
    return "unknown " + kind + " '" + word + "'" + must_be_one_of(word, choices);
  };
  return {is_choice, ""};
}

// What completion offers after --kernel, besides folders.
std::vector<std::string> kernel_proposals() {
  std::vector<std::string> words = Catalog::shipped_families();
  const std::vector<std::string> operators = Catalog::shipped_operators();
  words.insert(words.end(), operators.begin(), operators.end());
  return words;
}

// What completion offers after --gpu: names without blanks, which no shell has to quote.
std::vector<std::string> gpu_proposals() {
  std::vector<std::string> words = {"auto", "all", "cpu"};
  const Result<std::vector<GpuProduct>> products = shipped_gpu_products();
  if (!products.ok()) return words;
  for (const GpuProduct& product : *products) {
    if (product.name.find(' ') == std::string::npos) words.push_back(product.name);
  }
  return words;
}

}  // namespace

void ArgumentList::flag(const std::string& name, bool& variable, const std::string& help) {
  app_.add_flag(name, variable, help);
}

void ArgumentList::value(const std::string& name, std::string& variable,
                         const std::string& placeholder, const std::string& help) {
  app_.add_option(name, variable, help)->type_name(placeholder)->check(not_empty, "");
}

void ArgumentList::required(const std::string& name, std::string& variable,
                            const std::string& placeholder, const std::string& help) {
  app_.add_option(name, variable, help)->type_name(placeholder)->required()->check(not_empty, "");
}

void ArgumentList::integer(const std::string& name, std::uint64_t& variable,
                           const std::string& placeholder, const std::string& help) {
  app_.add_option(name, variable, help)->type_name(placeholder)->check(is_count, "");
}

void ArgumentList::choice(const std::string& name, std::string& variable,
                          const std::vector<std::string>& choices, const std::string& placeholder,
                          const std::string& help) {
  CLI::Option* option = app_.add_option(name, variable, help)->type_name(placeholder);
  proposed_[option->check(not_empty, "")->check(one_of(choices, name.substr(2)))] = choices;
}

void ArgumentList::kernel(std::string& variable, const std::string& placeholder,
                          const std::string& help) {
  CLI::Option* option = app_.add_option("--kernel,KERNEL", variable, help);
  proposed_[option->type_name(placeholder)->check(not_empty, "")] = kernel_proposals();
}

void ArgumentList::required_kernel(std::string& variable, const std::string& placeholder,
                                   const std::string& help) {
  kernel(variable, placeholder, help);
  app_.get_option("--kernel")->required();
}

void ArgumentList::gpu(std::string& variable, const std::string& help) {
  CLI::Option* option = app_.add_option("--gpu", variable, help)->type_name("NAME");
  proposed_[option->check(not_empty, "")] = gpu_proposals();
}

void ArgumentList::database(std::string& variable) {
  value("--db", variable, "FILE", "Database of results (default: the user's)");
}

void ArgumentList::json(bool& variable) { flag("--json", variable, "Print JSON"); }

void ArgumentList::kernel_and_gpu(ResultFilter& filter) {
  kernel(filter.kernel, "NAME|DIR", "Only this family, operator or folder");
  gpu(filter.gpu, "Only this GPU: L4, \"NVIDIA H200\", cpu");
}

void ArgumentList::values(const std::string& name, std::vector<std::string>& variable,
                          const std::string& placeholder, const std::string& help) {
  app_.add_option(name, variable, help)
      ->type_name(placeholder)
      ->allow_extra_args(false)
      ->check(not_empty, "");
}

void ArgumentList::word(const std::string& name, std::string& variable,
                        const std::vector<std::string>& choices, const std::string& help) {
  CLI::Option* option = app_.add_option(name, variable, help)->type_name("")->required();
  option->check(not_empty, "");
  if (!choices.empty()) proposed_[option->check(one_of(choices, "word"))] = choices;
}

void ArgumentList::optional_word(const std::string& name, std::string& variable,
                                 const std::string& help) {
  app_.add_option(name, variable, help)->type_name("")->check(not_empty, "");
}

void ArgumentList::words(const std::string& name, std::vector<std::string>& variable,
                         const std::string& help) {
  app_.add_option(name, variable, help)->type_name("");
}

namespace {

constexpr const char* kAbout =
    "mgtune generates variants of a CUDA kernel, checks each one against a reference, times\n"
    "them, and runs the fastest one from a C, C++ or PyTorch program.";
constexpr const char* kFirstSteps =
    "First steps:\n"
    "  mgtune sweep rmsnorm              tune rmsnorm on the GPU, or on the cpu device without "
    "one\n"
    "  mgtune show best                  show the fastest variant of each problem\n"
    "  mgtune report -o report.html      write all results as one page\n"
    "\n"
    "'mgtune help COMMAND' describes a command. Exit codes:\n";

void configure(CLI::App& app) {
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.get_formatter()->column_width(34);
  app.get_formatter()->label("REQUIRED", "(required)");
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
}

// The subcommand that the words parsed so far name, or the program itself.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : *parsed.front();
}

std::string title(const CLI::App& app) {
  return app.get_parent() == nullptr ? "mgtune" : "mgtune " + app.get_name();
}

// The message for a word that is neither an option nor a subcommand.
std::string describe_unknown(const CLI::App& root, const CLI::App& at, const std::string& word) {
  std::vector<std::string> known;
  if (word.starts_with('-')) {
    for (const CLI::Option* option : at.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    const std::string name = word.substr(0, word.find('='));
    return "unknown option '" + name + "' of " + title(at) + did_you_mean(name, known);
  }
  if (&at != &root) return "unexpected argument '" + word + "' of " + title(at);
  const auto visible = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* command : root.get_subcommands(visible))
    known.push_back(command->get_name());
  return "unknown command '" + word + "'" + must_be_one_of(word, known);
}

// CLI11 reports a missing option before an unknown one. Often the unknown one is the missing one,
// misspelt, so the unknown one is reported first.
Status usage_error(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& at = innermost(root);
  const std::vector<std::string> unknown = root.remaining(true);
  const std::string what =
      unknown.empty() ? error.what() : describe_unknown(root, at, unknown.front());
  return invalid_argument(what + "\nSee '" + title(at) + " --help'.");
}

// CLI11 accepts an unknown command before --help or --version, so we check it.
Status check_command(const CLI::App& app, const Commands& commands, const std::string& word) {
  const bool is_known = std::ranges::find(commands, word, &NamedCommand::name) != commands.end();
  if (word.starts_with('-') || is_known) return {};
  return invalid_argument(describe_unknown(app, app, word) + "\nSee 'mgtune --help'.");
}

// The arguments of the program, as CLI11 parses them. The commands must outlive the object.
struct ParsedProgram {
  CLI::App app{kAbout, "mgtune"};
  ProposedWords proposed;
  std::map<const CLI::App*, Command*> by_app;

  explicit ParsedProgram(const Commands& commands) {
    configure(app);
    app.set_version_flag("-V,--version", "mgtune " + std::string(mgtune_version()),
                         "Print the version");
    app.footer(kFirstSteps + exit_code_list());
    app.require_subcommand(0, 1);  // a second command name is an argument: help sweep
    for (const auto& [name, summary, command] : commands) {
      CLI::App* subcommand = app.add_subcommand(name, summary);
      configure(*subcommand);
      subcommand->footer(std::string(command->details()));
      subcommand->group(command->hidden() ? "" : "Commands");
      ArgumentList arguments(*subcommand, proposed);
      command->declare(arguments);
      by_app[subcommand] = command.get();
    }
  }
};

OptionUsage usage_of(const CLI::Option& option, const ProposedWords& proposed) {
  OptionUsage usage;
  for (const std::string& name : option.get_snames()) usage.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) usage.names.push_back("--" + name);
  usage.word = option.get_positional() ? option.get_name(true) : "";
  usage.takes_value = option.get_expected_max() > 0;
  usage.placeholder = usage.takes_value ? option.get_type_name() : "";
  usage.is_repeated = option.get_expected_max() > 1;
  usage.is_required = option.get_required();
  usage.help = option.get_description();
  const auto words = proposed.find(&option);
  if (words != proposed.end()) usage.proposals = words->second;
  return usage;
}

}  // namespace

std::vector<CommandUsage> describe_commands() {
  const Commands commands = make_commands();
  ParsedProgram program(commands);
  std::vector<CommandUsage> usages;
  const auto add = [&](const CLI::App& app, const std::string& name, const std::string& details,
                       bool is_hidden) {
    CommandUsage& usage = usages.emplace_back();
    usage.name = name;
    usage.summary = app.get_description();
    usage.details = details;
    usage.help = name.empty() ? app.help() : app.help("mgtune");
    usage.is_hidden = is_hidden;
    for (const CLI::Option* option : app.get_options()) {
      usage.options.push_back(usage_of(*option, program.proposed));
    }
  };
  add(program.app, "", program.app.get_footer(), false);
  for (const auto& [name, summary, command] : commands) {
    add(*program.app.get_subcommand(name), name, command->details(), command->hidden());
  }
  return usages;
}

Result<Command*> parse(int argc, const char* const* argv, const Commands& commands) {
  ParsedProgram program(commands);
  CLI::App& app = program.app;
  if (argc > 1) MGTUNE_TRY(check_command(app, commands, argv[1]));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    app.exit(asked, std::cout, std::cout);
    return nullptr;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  if (parsed.empty()) {
    std::cout << app.help();
    return nullptr;
  }
  return program.by_app[parsed.front()];
}

}  // namespace mgtune
