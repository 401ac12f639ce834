#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>
#include <system_error>

#include "cli/argument_list.h"
#include "cli/command.h"
#include "cli/stored_results.h"
#include "core/file_system.h"
#include "html/html_report.h"
#include "model/units.h"

namespace mgtune {
namespace {

// In place: the path may be a device or a link.
Status write_over(const std::string& path, const std::string& html) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << html;
  file.close();
  if (file) return {};
  return io_error("cannot write " + path + ": " + std::strerror(errno));
}

// Whole or not at all where it can be, and for others to read, unlike the files that mgtune keeps.
Status write_report(const std::string& path, const std::string& html) {
  constexpr std::string_view kDatabase = "SQLite format 3";
  std::string start(kDatabase.size(), '\0');
  if (std::ifstream(path, std::ios::binary).read(start.data(), std::streamsize(start.size())) &&
      start == kDatabase) {
    return invalid_argument(path + " is a database; the report would replace it");
  }
  std::error_code none;
  const auto there = std::filesystem::symlink_status(path, none);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return write_over(path, html);
  }
  MGTUNE_TRY(FileSystem::real().write_file(path, html));
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::chmod(path.c_str(), 0666 & ~mask);  // what is not allowed here stays the owner's
  return {};
}

class ReportCommand final : public Command {
 public:
  std::string_view name() const override { return "report"; }
  std::string_view summary() const override { return "Write everything found as one HTML page"; }
  std::string_view details() const override {
    return "The page needs no network and no script.\n"
           "Example: mgtune report -o report.html";
  }
  void declare(ArgumentList& arguments) override {
    arguments.value("-o,--output", output_, "FILE", "Where to write it (default: report.html)");
    arguments.value("--db", database_, "FILE", "Database of results (default: the user's)");
  }
  Result<ExitCode> run(const Invocation&) override {
    MGTUNE_ASSIGN(std::optional<Store> store, open_results(database_));
    ReportModel model = make_report_model({});
    if (store.has_value()) {
      MGTUNE_ASSIGN(model, read_report_model(*store));
    }
    MGTUNE_ASSIGN(const std::string html, render_html(model));
    MGTUNE_TRY(write_report(output_, html));
    std::cout << "wrote " << output_ << '\n';
    if (model.sweeps.empty()) {
      std::cerr << "There are no results in it yet; this fills it: " << kSweepCommand << '\n';
    }
    return ExitCode::ok;
  }

 private:
  std::string output_ = "report.html", database_;
};

}  // namespace

std::unique_ptr<Command> make_report_command() { return std::make_unique<ReportCommand>(); }

}  // namespace mgtune
