#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <utility>

#include "cli/command.h"
#include "exchange/read_document.h"
#include "pack/pack.h"
#include "results/pack_contents.h"
#include "results/stored_results.h"
#include "system/cores.h"
#include "system/file_system.h"
#include "text/printable.h"
#include "text/units.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxThreads = 16;  // NVRTC does not compile faster with more

class PackCommand final : public Command {
 public:
  std::string details() const override {
    return "A program passes FILE to mgr_open, or MGTUNE_DB names it. The program then runs the\n"
           "tuned variants without a compiler and without a database. FILE has the builds for\n"
           "every tuned combination of static dims, dtypes and flags, and for any dynamic dims:\n"
           "those of the picks, of the rules, and of the defaults beside them.\n"
           "Writing it needs no GPU. Rows that this mgtune cannot use are left out, and it says "
           "so.\n"
           "Example: mgtune pack --kernel rmsnorm --gpu H200,L4 -o rmsnorm.mgpack";
  }
  void declare(ArgumentList& arguments) override {
    arguments.required_kernel(
        request_.kernel, "NAME|DIR",
        "Family or operator (rmsnorm, rmsnorm.forward), or a family's folder");
    arguments.required("--gpu", request_.gpus, "MODEL,...",
                       "The GPUs: H200, \"NVIDIA H200\"; or cpu");
    arguments.required("-o,--output", output_, "FILE", "The file to write");
    arguments.database(request_.database);
    arguments.value("--table", request_.table, "FILE",
                    "A tuned table ('mgtune export') instead of a database");
  }
  Result<ExitCode> run(const Invocation&) override {
    if (!request_.table.empty() && !request_.database.empty()) {
      return invalid_argument("--table and --db exclude each other");
    }
    MGTUNE_TRY(check_folder(output_));  // before minutes of compiling
    Catalog catalog(FileSystem::real());
    Result<TunedText> tuned = tuned_text(request_, catalog);
    if (!tuned.ok()) {  // the message may quote a file of unknown origin
      return Status(tuned.status().code(), printable(tuned.status().message()));
    }
    for (const std::string& note : tuned->notes) std::cerr << "mgtune: " << printable(note) << '\n';
    MGTUNE_ASSIGN(const JsonValue value, parse_document(output_, tuned->text));
    MGTUNE_ASSIGN(const std::vector<TunedTableRow> rows,
                  read_tuned_table(JsonCursor(output_, value), catalog, UnknownOperators::refuse));
    MGTUNE_ASSIGN(std::vector<PackedRules> rules, packed_rules(request_, rows, catalog));
    MGTUNE_ASSIGN(const std::vector<WantedBuild> wanted, wanted_builds(rows, rules, catalog));
    if (wanted.empty())
      return unsupported("no variant of " + request_.kernel + " runs on these GPUs");
    const std::size_t cores = own_core_count();
    MGTUNE_ASSIGN(MadeBuilds made, make_builds(wanted, std::min(cores, kMaxThreads)));
    if (made.builds.empty()) return Status(StatusCode::compile_failed, made.failed.front());
    return write(std::move(tuned->text), rows, std::move(rules), wanted, std::move(made));
  }

 private:
  Result<ExitCode> write(std::string text, const std::vector<TunedTableRow>& rows,
                         std::vector<PackedRules> rules, const std::vector<WantedBuild>& wanted,
                         MadeBuilds made) const {
    MGTUNE_ASSIGN(const std::unique_ptr<Compiler> compiler,
                  make_compiler(wanted.front().request.arch));
    Pack pack;
    pack.compiler = compiler->identity();
    pack.cuda_version = cuda_version_of(pack.compiler);
    pack.table = std::move(text);
    pack.rules = std::move(rules);
    const auto builds = std::ssize(made.builds);
    pack.builds = std::move(made.builds);
    MGTUNE_ASSIGN(const std::string bytes, encode_pack(std::move(pack)));
    MGTUNE_TRY(write_output(output_, "the pack", bytes));
    std::set<std::string> models;
    for (const TunedTableRow& row : rows) models.insert(row.view.gpu.model);
    std::cerr << "wrote " << output_ << " for " << fmt::format("{}", fmt::join(models, ", "))
              << ": " << counted(std::ssize(rows), "tuned problem") << ", "
              << counted(builds, "build") << " (" << made.compiled << " compiled now), "
              << bytes.size() << " bytes\n";
    if (made.failed.empty()) return ExitCode::ok;
    std::cerr << "left out because they do not compile:\n";
    for (const std::string& failure : made.failed) std::cerr << "  " << failure << '\n';
    return ExitCode::partial;
  }

  PackRequest request_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_pack_command() { return std::make_unique<PackCommand>(); }

}  // namespace mgtune
