#include "cli/output/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/version.h"

namespace mgtune {
namespace {

std::string page_name(const CommandUsage& command) {
  return command.name.empty() ? "mgtune" : "mgtune-" + command.name;
}

// Escapes the text, so that roff prints it as it is: a '.' or a quote at the start of a line would
// be a request, and a plain '-' would become a hyphen that cannot be searched for or copied.
std::string roff(std::string_view text) {
  std::string escaped;
  bool starts_line = true;
  for (const char c : text) {
    if (starts_line && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
    starts_line = c == '\n';
  }
  return escaped;
}

std::string synopsis(const CommandUsage& command) {
  std::string text = "mgtune";
  if (command.name.empty()) return text + " COMMAND [OPTIONS]";
  text += " " + command.name + " [OPTIONS]";
  for (const OptionUsage& option : command.options) {
    if (option.word.empty()) continue;
    const std::string word = option.word + (option.is_repeated ? "..." : "");
    text += option.is_required ? " " + word : " [" + word + "]";
  }
  return text;
}

std::string option_entry(const OptionUsage& option) {
  std::vector<std::string> names = option.names;
  if (!option.word.empty()) names.push_back(option.word);
  const std::string value = option.names.empty() || !option.takes_value
                                ? ""
                                : fmt::format(" \\fI{}\\fR", roff(option.placeholder));
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(fmt::format("{}", fmt::join(names, ", "))),
                     value, roff(option.help));
}

}  // namespace

std::string man_page_file(const CommandUsage& command) { return page_name(command) + ".1"; }

std::string man_page(const CommandUsage& command, const std::vector<CommandUsage>& commands) {
  const std::string summary = command.summary.substr(0, command.summary.find('\n'));
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"mgtune {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n.B {}\n",
      page_name(command), mgtune_version(), roff(page_name(command)), roff(summary),
      roff(synopsis(command)));
  if (command.name.empty()) {
    text += ".SH DESCRIPTION\n" + roff(command.summary) + "\n.SH COMMANDS\n";
    for (const CommandUsage& other : commands) {
      if (other.is_hidden || other.name.empty()) continue;
      text +=
          fmt::format(".TP\n\\fBmgtune\\-{}\\fR(1)\n{}\n", roff(other.name), roff(other.summary));
    }
  }
  text += ".SH OPTIONS\n";
  for (const OptionUsage& option : command.options) text += option_entry(option);
  if (!command.details.empty()) {
    text += ".SH NOTES\n.nf\n" + roff(command.details) + "\n.fi\n";
  }
  return text + (command.name.empty() ? "" : ".SH SEE ALSO\n\\fBmgtune\\fR(1)\n");
}

}  // namespace mgtune
