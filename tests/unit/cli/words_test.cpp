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
