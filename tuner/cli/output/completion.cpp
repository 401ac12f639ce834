#include "cli/output/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.h"

namespace mgtune {
namespace {

// Calls `use` for each command that people type, without the program itself.
template <typename Use>
void for_each_command(const std::vector<CommandUsage>& commands, const Use& use) {
  for (const CommandUsage& command : commands) {
    if (!command.is_hidden && !command.name.empty()) use(command);
  }
}

std::string visible_names(const std::vector<CommandUsage>& commands) {
  std::vector<std::string> names;
  for_each_command(commands, [&](const CommandUsage& command) { names.push_back(command.name); });
  return fmt::format("{}", fmt::join(names, " "));
}

// The option's text between single quotes of a shell, on one line.
std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) {
    text.replace(at, 1, "'\\''");
  }
  return "'" + text + "'";
}

// The case of bash that offers the values of an option.
std::string bash_value_case(const CommandUsage& command, const OptionUsage& option) {
  std::string pattern;
  for (const std::string& name : option.names) {
    pattern += fmt::format("{}'{} {}'", pattern.empty() ? "" : "|", command.name, name);
  }
  const std::string_view paths = option.names_file() ? "-f" : option.names_folder() ? "-d" : "";
  return fmt::format("    {}) paths='{}' words='{}' ;;\n", pattern, paths,
                     fmt::join(option.proposals, " "));
}

// The case of bash that offers the options of a command, and its arguments without a name.
std::string bash_command_case(const CommandUsage& command) {
  std::vector<std::string> words;
  std::string_view paths;
  for (const OptionUsage& option : command.options) {
    words.insert(words.end(), option.names.begin(), option.names.end());
    if (option.word.empty()) continue;
    words.insert(words.end(), option.proposals.begin(), option.proposals.end());
    if (option.names_folder() && paths.empty()) paths = "-d";
    if (option.names_file()) paths = "-f";
  }
  return fmt::format("      {}) paths='{}' words='{}' ;;\n", command.name, paths,
                     fmt::join(words, " "));
}

std::string bash_script(const std::vector<CommandUsage>& commands) {
  const std::string names = visible_names(commands);
  std::string values;
  std::string options;
  for_each_command(commands, [&](const CommandUsage& command) {
    for (const OptionUsage& option : command.options) {
      if (option.takes_value && !option.names.empty()) values += bash_value_case(command, option);
    }
    options += bash_command_case(command);
  });
  return fmt::format(R"(# bash completion for mgtune, printed by 'mgtune completion bash'
_mgtune() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local command=${{COMP_WORDS[1]}} paths='' words=''
  # Bash makes a word of its own of the = in --option=value.
  if [ "$word" = = ]; then
    word=''
  elif [ "$previous" = = ]; then
    previous=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  if [ "$COMP_CWORD" -le 1 ]; then
    words='{} --help --version'
  else
    case "$command $previous" in
    'help help') words='{}' ;;
{}    *) case "$command" in
{}    esac ;;
    esac
  fi
  COMPREPLY=($(compgen $paths -W "$words" -- "$word"))
}}
complete -o filenames -F _mgtune mgtune
)",
                     names, names, values, options);
}

// What zsh completes for a value: one of the proposals, or a path. The action is a call of a
// function in the script: _alternative needs colons, but _arguments ends an action at a colon.
std::string zsh_action(const OptionUsage& option) {
  const std::string_view paths = option.names_file()     ? "files"
                                 : option.names_folder() ? "folders"
                                                         : "none";
  if (paths == "none" && option.proposals.empty()) return " ";
  return fmt::format(" _mgtune_values {}{}{}", paths, option.proposals.empty() ? "" : " ",
                     fmt::join(option.proposals, " "));
}

// The text without the characters that would end a description for _arguments.
std::string zsh_text(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') plain += '\\';
    plain += c;
  }
  return plain;
}

std::string zsh_script(const std::vector<CommandUsage>& commands) {
  std::string list;
  std::string cases;
  for_each_command(commands, [&](const CommandUsage& command) {
    list += "    " + quoted(command.name + ":" + command.summary) + "\n";
    cases += "  " + command.name + ")\n    _arguments -S";
    for (const OptionUsage& option : command.options) {
      const std::string value = option.placeholder.empty() ? option.word : option.placeholder;
      const std::string action = zsh_text(value) + ":" + zsh_action(option);
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        const std::string_view repeated = option.is_repeated ? "*" : "";
        const std::string_view joined = !option.takes_value ? "" : is_long ? "=" : "+";
        cases += " \\\n      " +
                 quoted(fmt::format("{}{}{}[{}]{}", repeated, name, joined, zsh_text(option.help),
                                    option.takes_value ? ":" + action : ""));
      }
      if (!option.word.empty()) {
        cases += " \\\n      " + quoted((option.is_repeated ? "*:" : ":") + action);
      }
    }
    cases += " ;;\n";
  });
  return fmt::format(R"sh(#compdef mgtune
# zsh completion for mgtune, printed by 'mgtune completion zsh'
# The first argument says which paths, the others are words.
_mgtune_values() {{
  local -a ways
  (( $# > 1 )) && ways+=("words:word:(${{(j: :)@[2,-1]}})")
  case $1 in
  files) ways+=('files:file:_files') ;;
  folders) ways+=('folders:folder:_files -/') ;;
  esac
  _alternative $ways
}}
_mgtune() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [ "$funcstack[1]" = _mgtune ]; then
  _mgtune "$@"
else
  compdef _mgtune mgtune
fi
)sh",
                     list, cases);
}

std::string fish_values(const OptionUsage& option) {
  std::string text = option.names_file() || option.names_folder() ? " -r -F" : " -x";
  if (!option.proposals.empty()) {
    text += fmt::format(" -a {}", quoted(fmt::format("{}", fmt::join(option.proposals, " "))));
  }
  return text;
}

std::string fish_script(const std::vector<CommandUsage>& commands) {
  std::string text =
      "# fish completion for mgtune, printed by 'mgtune completion fish'\n"
      "complete -c mgtune -f\n";
  for_each_command(commands, [&](const CommandUsage& command) {
    text += fmt::format("complete -c mgtune -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        quoted(command.summary));
  });
  for_each_command(commands, [&](const CommandUsage& command) {
    const std::string start =
        fmt::format("complete -c mgtune -n '__fish_seen_subcommand_from {}'", command.name);
    for (const OptionUsage& option : command.options) {
      std::string names;
      for (const std::string& name : option.names) {
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      const std::string help = " -d " + quoted(option.help);
      if (!names.empty()) {
        text.append(start).append(names);
        if (option.takes_value) text += fish_values(option);
        text.append(help).append("\n");
      }
      const bool has_paths = option.names_file() || option.names_folder();
      if (!option.word.empty() && (has_paths || !option.proposals.empty())) {
        text += start + (has_paths ? " -F" : "") +
                (option.proposals.empty()
                     ? ""
                     : " -a " + quoted(fmt::format("{}", fmt::join(option.proposals, " ")))) +
                "\n";
      }
    }
  });
  return text + fmt::format("complete -c mgtune -n '__fish_seen_subcommand_from help' -a {}\n",
                            quoted(visible_names(commands)));
}

constexpr CompletionShell kShells[] = {
    {"bash", bash_script},
    {"zsh", zsh_script},
    {"fish", fish_script},
};

}  // namespace

std::span<const CompletionShell> completion_shells() { return kShells; }

}  // namespace mgtune
