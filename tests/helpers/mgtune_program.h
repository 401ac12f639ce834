// MgtuneProgram: the built mgtune, run as a process with a home, database, build cache and folder
// for temporary files of its own. What it starts, and what those start, is found by a variable in
// the environment that they all inherit.

#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/helpers/replaced.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {

// How a process ended. As a shell says it: 128 + signal for one that a signal killed.
struct Ended {
  int exit_code = -1;
  bool by_signal = false;
  std::string out, err;

  nlohmann::json json() const {
    const auto json = nlohmann::json::parse(out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << out;
    return json;
  }
};

inline std::ostream& operator<<(std::ostream& stream, const Ended& ended) {
  return stream << "exit code " << ended.exit_code << "\n--- stdout\n"
                << ended.out << "--- stderr\n"
                << ended.err;
}

// The words were refused: nothing on standard output, and one message.
inline void expect_refused(const Ended& ended, int exit_code,
                           const testing::Matcher<std::string>& message) {
  EXPECT_EQ(ended.exit_code, exit_code) << ended;
  EXPECT_THAT(ended.err, testing::AllOf(testing::StartsWith("mgtune: "), message)) << ended;
  EXPECT_THAT(ended.out, testing::IsEmpty()) << ended;
}

class MgtuneProgram {
 public:
  using Words = std::vector<std::string>;

  // Builds go to `cache`, which several programs may share.
  explicit MgtuneProgram(const std::string& cache) : cache_(cache) {
    std::filesystem::create_directory(temporary_files());
  }
  ~MgtuneProgram() {
    if (pid_ > 0) finish(SIGKILL);
  }
  MgtuneProgram(const MgtuneProgram&) = delete;
  MgtuneProgram& operator=(const MgtuneProgram&) = delete;

  const TestFolder& folder() const { return folder_; }
  std::string database() const { return folder_.file("data/mgtune/results.db"); }
  std::string data_folder() const { return folder_.file("data/mgtune"); }
  std::string temporary_files() const { return folder_.file("tmp"); }

  // From here on.
  void without_home() { has_home_ = false; }
  void with_program(const std::string& path) { program_ = path; }  // for example an installed copy
  void with_variable(const std::string& name, const std::string& value) { more_[name] = value; }
  void with_file_size_limit(rlim_t bytes) { file_size_limit_ = bytes; }
  void with_ignored_signal(int signal) { ignored_signal_ = signal; }

  Ended run(const Words& words) {
    start(words);
    return finish();
  }

  void start(const Words& words) {
    pid_ = ::fork();
    if (pid_ == 0) become(words);
  }

  void send(int signal) { ::kill(pid_, signal); }
  pid_t pid() const { return pid_; }

  // Those that run: it, its workers, their compilers, whosever children they are by now.
  std::vector<pid_t> processes() const {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const std::string environment = file_content(entry.path().string() + "/environ");
      if (environment.find(mark()) != std::string::npos) found.push_back(std::stoi(name));
    }
    return found;
  }

  // How long it took until none of them ran; nullopt when some still did after `limit`.
  std::optional<std::chrono::milliseconds> time_to_be_gone(std::chrono::milliseconds limit) const {
    const auto start = std::chrono::steady_clock::now();
    while (true) {
      const bool gone = processes().empty();
      const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::steady_clock::now() - start);
      if (gone) return passed;
      if (passed > limit) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  bool runs() {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == 0;
  }

  // Waits for the end, after sending `signal` unless that is 0.
  Ended finish(int signal = 0) {
    if (signal != 0) send(signal);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    Ended ended;
    ended.by_signal = WIFSIGNALED(status);
    ended.exit_code = ended.by_signal ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    ended.out = file_content(folder_.file("out"));
    ended.err = file_content(folder_.file("err"));
    return ended;
  }

  // Whether `done()` came true before the program ended or `limit` passed.
  template <typename Condition>
  bool wait_until(const Condition& done, std::chrono::seconds limit = std::chrono::seconds(60)) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < deadline && runs()) {
      if (done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return done();
  }

 private:
  [[noreturn]] void become(const Words& words) const {
    if (has_home_) {
      ::setenv("HOME", folder_.path().c_str(), 1);
      ::setenv("XDG_DATA_HOME", folder_.file("data").c_str(), 1);
    } else {
      ::unsetenv("HOME");
      ::unsetenv("XDG_DATA_HOME");
    }
    ::setenv("MGTUNE_TEST_RUN", folder_.path().c_str(), 1);
    ::setenv("TMPDIR", temporary_files().c_str(), 1);
    ::setenv("MGTUNE_CACHE_DIR", cache_.c_str(), 1);
    ::unsetenv("MGTUNE_DB");
    for (const auto& [name, value] : more_) ::setenv(name.c_str(), value.c_str(), 1);
    redirect(STDOUT_FILENO, folder_.file("out"));
    redirect(STDERR_FILENO, folder_.file("err"));
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
    if (ignored_signal_ != 0) ::signal(ignored_signal_, SIG_IGN);
    if (file_size_limit_ != RLIM_INFINITY) {
      const rlimit limit{file_size_limit_, file_size_limit_};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    std::vector<char*> arguments = {const_cast<char*>(program_.c_str())};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(program_.c_str(), arguments.data());
    ::_exit(127);
  }

  static void redirect(int descriptor, const std::string& file) {
    const int target = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(target, descriptor);
    ::close(target);
  }

  std::string mark() const { return "MGTUNE_TEST_RUN=" + folder_.path() + '\0'; }

  TestFolder folder_;
  std::string cache_;
  std::string program_ = mgtune_path();
  pid_t pid_ = -1;
  bool has_home_ = true;
  int ignored_signal_ = 0;
  rlim_t file_size_limit_ = RLIM_INFINITY;
  std::map<std::string, std::string> more_;  // environment variables
};

// A program, and a copy of the small family vector_add, which a test may edit.
class VectorAddTest : public testing::Test {
 protected:
  // `name` is that of the copy.
  explicit VectorAddTest(const std::string& name = "vector_add")
      : family_(mgtune_.folder().file(name)) {
    std::filesystem::copy(source_path("tests/families/vector_add"), family_);
  }

  void edit(const std::string& name, const std::string& from, const std::string& to) const {
    replace_in_file(family_ + "/" + name, from, to);
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
  const std::string family_;
};

}  // namespace mgtune
