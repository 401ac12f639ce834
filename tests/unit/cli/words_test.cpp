// Completion scripts and man pages, which are made from the declarations of the commands.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/output/completion.h"
#include "cli/output/man_page.h"
#include "cli/usage.h"
#include "tests/helpers/replaced.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string script_of(std::string_view shell) {
  for (const CompletionShell& known : completion_shells()) {
    if (known.name == shell) return known.script(describe_commands());
  }
  ADD_FAILURE() << shell;
  return "";
}

// What bash offers after these words.
std::set<std::string> completed(const std::string& words, int current) {
  const TestFolder folder;
  std::ofstream(folder.file("script"))
      << script_of("bash") << "COMP_WORDS=(" << words << ")\nCOMP_CWORD=" << current
      << "\n_mgtune\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const std::string command = "bash " + folder.file("script") + " > " + folder.file("out");
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::set<std::string> lines;
  std::ifstream out(folder.file("out"));
  for (std::string line; std::getline(out, line);) lines.insert(line);
  return lines;
}

TEST(Completion, EveryShellHasEveryCommandAndOption) {
  for (const CompletionShell& shell : completion_shells()) {
    const std::string script = shell.script(describe_commands());
    for (const CommandUsage& command : describe_commands()) {
      if (command.is_hidden || command.name.empty()) continue;
      EXPECT_THAT(script, HasSubstr(command.name)) << shell.name;
      for (const OptionUsage& option : command.options) {
        for (const std::string& name : option.names) {
          const std::string word = shell.name == "fish" ? name.substr(name.rfind('-') + 1) : name;
          EXPECT_THAT(script, HasSubstr(word)) << shell.name << ' ' << command.name;
        }
      }
    }
    EXPECT_THAT(script, Not(HasSubstr("A child process of a sweep"))) << shell.name;
  }
}

TEST(Completion, BashOffersWhatComesNext) {
  EXPECT_TRUE(completed("mgtune sw", 1).contains("sweep"));
  EXPECT_FALSE(completed("mgtune wo", 1).contains("worker"));
  EXPECT_EQ(completed("mgtune sweep --strategy a", 3), std::set<std::string>{"adaptive"});
  EXPECT_EQ(completed("mgtune sweep --strategy = ex", 4), std::set<std::string>{"exhaustive"});
  EXPECT_TRUE(completed("mgtune sweep rms", 2).contains("rmsnorm.forward"));
  EXPECT_TRUE(completed("mgtune sweep --dry", 2).contains("--dry-run"));
  EXPECT_TRUE(completed("mgtune show b", 2).contains("best"));
  EXPECT_TRUE(completed("mgtune help pro", 2).contains("profile"));
  EXPECT_TRUE(completed("mgtune list --gpu H2", 3).contains("H200"));
}

// The scripts of the shells that this machine has are read without an error.
TEST(Completion, TheShellsReadTheirScripts) {
  const TestFolder folder;
  for (const CompletionShell& shell : completion_shells()) {
    const std::string name(shell.name);
    if (std::system(("command -v " + name + " > /dev/null").c_str()) != 0) continue;
    std::ofstream(folder.file(name)) << shell.script(describe_commands());
    EXPECT_EQ(std::system((name + " -n " + folder.file(name)).c_str()), 0) << name;
  }
}

bool has_shell(const std::string& name) {
  if (std::system(("command -v " + name + " > /dev/null").c_str()) == 0) return true;
  std::cout << "NOTHING WAS COMPLETED: there is no " << name << " here" << std::endl;
  return false;
}

std::string script_file(const TestFolder& folder, const std::string& shell) {
  std::ofstream(folder.file(shell)) << script_of(shell);
  return folder.file(shell);
}

// What a line becomes when tab is pressed behind it.
struct Completed {
  const char* typed;
  const char* line;
};
constexpr Completed kCompleted[] = {
    {"mgtune swe", "mgtune sweep"},
    {"mgtune sweep --dry", "mgtune sweep --dry-run"},
    {"mgtune sweep --strategy ad", "mgtune sweep --strategy adaptive"},
    {"mgtune sweep --strategy=ad", "mgtune sweep --strategy=adaptive"},
    {"mgtune list --gpu=H20", "mgtune list --gpu=H200"},
    {"mgtune show fai", "mgtune show failures"}};

// A zsh in a terminal of its own: only there zsh completes.
TEST(Completion, ZshCompletesInItsShell) {
  if (!has_shell("zsh")) GTEST_SKIP();
  const TestFolder folder;
  const std::string script = script_file(folder, "zsh");
  std::ofstream(folder.file("press_tab.zsh")) << R"(
zmodload zsh/zpty
zpty shell env TERM=dumb COLUMNS=200 zsh -f -i
zpty -w shell "PROMPT=; autoload -Uz compinit; compinit -u -D; source $1; bindkey '^I' complete-word; echo BE''GUN"
zpty -r -m shell line '*BEGUN*'
for typed expected in "${@[2,-1]}"; do
  zpty -w -n shell "$typed"$'\t'
  zpty -r -m shell line "*$expected*"   # for ever if it does not come
  print -r -- "$expected"
  zpty -w -n shell $'\C-u'
done
zpty -d shell
)";
  std::string words, lines;
  for (const Completed& completed : kCompleted) {
    words += std::string(" '") + completed.typed + "' '" + completed.line + "'";
    lines += std::string(completed.line) + "\n";
  }
  const std::string out = folder.file("out");
  static_cast<void>(std::system(
      ("timeout 20 zsh -f " + folder.file("press_tab.zsh") + " " + script + words + " > " + out)
          .c_str()));
  EXPECT_EQ(file_content(out), lines) << "the next line was not completed";
}

TEST(Completion, FishCompletesInItsShell) {
  if (!has_shell("fish")) GTEST_SKIP();
  const TestFolder folder;
  const std::string script = script_file(folder, "fish"), out = folder.file("out");
  std::string commands = "source " + script;
  for (const Completed& completed : kCompleted) {
    commands += std::string("; complete -C \"") + completed.typed + "\"";
  }
  ASSERT_EQ(std::system(("HOME=" + folder.path() + " fish -c '" + commands + "' > " + out).c_str()),
            0);
  std::string first_words;
  std::ifstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    first_words += line.substr(0, line.find('\t')) + "\n";
  }
  EXPECT_EQ(first_words, "sweep\n--dry-run\nadaptive\n--strategy=adaptive\n--gpu=H200\nfailures\n");
}

TEST(ManPage, HasTheSynopsisTheOptionsAndTheExamples) {
  const std::vector<CommandUsage> commands = describe_commands();
  for (const CommandUsage& command : commands) {
    if (command.name != "sweep") continue;
    EXPECT_EQ(man_page_file(command), "mgtune-sweep.1");
    const std::string page = man_page(command, commands);
    EXPECT_THAT(page, HasSubstr(".TH mgtune-sweep 1"));
    EXPECT_THAT(page, HasSubstr("mgtune sweep [OPTIONS] [KERNEL]"));
    EXPECT_THAT(page, HasSubstr("\\fB\\-\\-strategy\\fR \\fINAME\\fR"));
    EXPECT_THAT(page, HasSubstr("mgtune sweep rmsnorm \\-\\-gpu L4"));
  }
  const std::string overview = man_page(commands.front(), commands);
  EXPECT_EQ(man_page_file(commands.front()), "mgtune.1");
  EXPECT_THAT(overview, HasSubstr("mgtune\\-sweep\\fR(1)"));
  EXPECT_THAT(overview, Not(HasSubstr("mgtune\\-worker")));
}

// A line of the text that begins with a dot would be a request of roff.
TEST(ManPage, NoTextBecomesARequest) {
  CommandUsage command;
  command.name = "one";
  command.details = ".so /etc/passwd\n'quoted\nback\\slash";
  const std::string page = man_page(command, {command});
  EXPECT_THAT(page, HasSubstr("\n\\&.so"));
  EXPECT_THAT(page, HasSubstr("\n\\&'quoted"));
  EXPECT_THAT(page, HasSubstr("back\\eslash"));
}

}  // namespace
}  // namespace mgtune
