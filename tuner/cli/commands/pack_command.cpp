#include <algorithm>
#include <iostream>
#include <set>
#include <thread>
#include <utility>

#include "cli/argument_list.h"
#include "cli/command.h"
#include "cli/output_file.h"
#include "cli/pack_contents.h"
#include "system/file_system.h"
#include "exchange/json_document.h"
#include "text/printable.h"
#include "text/units.h"
#include "pack/pack_skew.h"

namespace mgtune {
namespace {

constexpr unsigned kMostThreads = 16;  // NVRTC compiles no faster with more

class PackCommand final : public Command {
 public:
  std::string_view name() const override { return "pack"; }
  std::string_view summary() const override {
    return "Write one file that ships: tuned variants and their builds";
  }
  std::string_view details() const override {
    return "Programs give the FILE to mgr_open, or name it in MGTUNE_DB, and run what was tuned "
           "without\n"
           "a compiler and without a database. It has the builds for every static dim, dtype and "
           "flag\n"
           "that is tuned, for any dynamic dims. No GPU is needed to write it.\n"
           "Example: mgtune pack --kernel rmsnorm --gpu H200,L4 -o rmsnorm.mgpack";
  }
  void declare(ArgumentList& arguments) override {
    arguments.required("--kernel", words_.kernel, "NAME|DIR",
                       "Family or operator (rmsnorm, rmsnorm.forward), or a family's folder");
    arguments.required("--gpu", words_.gpus, "MODEL,...",
                       "For these GPUs: H200, \"NVIDIA H200\"; or cpu");
    arguments.required("-o,--output", output_, "FILE", "Where to write it");
    arguments.value("--db", words_.database, "FILE", "Database of results (default: the user's)");
    arguments.value("--table", words_.table, "FILE",
                    "A tuned table ('mgtune export') instead of a database");
  }
  Result<ExitCode> run(const Invocation&) override {
    if (!words_.table.empty() && !words_.database.empty()) {
      return invalid_argument("--table and --db: name one of them");
    }
    Catalog catalog(FileSystem::real());
    Result<std::string> text = tuned_text(words_, catalog);
    if (!text.ok()) {  // which may quote a stranger's file
      return Status(text.status().code(), printable(text.status().message()));
    }
    MGTUNE_ASSIGN(const JsonValue value, parse_document(output_, *text));
    MGTUNE_ASSIGN(const std::vector<TunedTableRow> rows,
                  read_tuned_table(JsonCursor(output_, value), catalog, UnknownOperators::refuse));
    MGTUNE_ASSIGN(const std::vector<WantedBuild> wanted, wanted_builds(rows, catalog));
    if (wanted.empty()) return unsupported("no variant of " + words_.kernel + " runs there");
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    MGTUNE_ASSIGN(MadeBuilds made, make_builds(wanted, std::min(cores, kMostThreads)));
    if (made.builds.empty()) return Status(StatusCode::compile_failed, made.failed.front());
    return write(*std::move(text), rows, wanted, std::move(made));
  }

 private:
  Result<ExitCode> write(std::string text, const std::vector<TunedTableRow>& rows,
                         const std::vector<WantedBuild>& wanted, MadeBuilds made) const {
    MGTUNE_ASSIGN(const std::unique_ptr<Compiler> compiler,
                  make_compiler(wanted.front().request.arch));
    Pack pack;
    pack.compiler = compiler->identity();
    pack.cuda_version = cuda_version_of(pack.compiler);
    pack.table = std::move(text);
    const auto builds = std::ssize(made.builds);
    pack.builds = std::move(made.builds);
    const std::string bytes = encode_pack(std::move(pack));
    MGTUNE_TRY(write_output(output_, "the pack", bytes));
    std::set<std::string> models;
    for (const TunedTableRow& row : rows) models.insert(row.view.gpu.model);
    std::string gpus;
    for (const std::string& model : models) gpus += (gpus.empty() ? "" : ", ") + model;
    std::cerr << "wrote " << output_ << " for " << gpus << ": "
              << counted(std::ssize(rows), "tuned problem") << ", " << counted(builds, "build")
              << " (" << made.compiled << " compiled now), " << bytes.size() << " bytes\n";
    if (made.failed.empty()) return ExitCode::ok;
    std::cerr << "left out, since they do not compile:\n";
    for (const std::string& failure : made.failed) std::cerr << "  " << failure << '\n';
    return ExitCode::partial;
  }

  PackWords words_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_pack_command() { return std::make_unique<PackCommand>(); }

}  // namespace mgtune
