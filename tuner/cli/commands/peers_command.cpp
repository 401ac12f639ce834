#include <algorithm>
#include <iostream>
#include <set>

#include "cli/command.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "json/json.h"
#include "peers/read_peers.h"
#include "results/result_words.h"
#include "results/stored_results.h"
#include "system/file_system.h"
#include "text/peers_list.h"
#include "text/printable.h"
#include "text/units.h"

namespace mgtune {
namespace {

class PeersCommand final : public Command {
 public:
  std::string details() const override {
    return "import   adds the times of other implementations that FILE has. 'mgtune show best'\n"
           "         and the report then lead with them.\n"
           "list     prints the times that the database has.\n"
           "FILE is JSON, gzipped or not: of scripts/compare_with_peers.py, of Google Benchmark\n"
           "(--benchmark_format=json), of nvbench (--json), a data frame of triton's\n"
           "perf_report, or {\"NAME\": TIME} with the times of triton's do_bench.\n"
           "What was timed stands in the names of benchmarks:\n"
           "  liger@0.6.2/rmsnorm.forward/rows:4096/hidden:4096/T:bf16\n"
           "or in the axes of nvbench and the columns of perf_report, which are then called\n"
           "rows, hidden, T. Options say what a file does not say; they hold for all its times.\n"
           "Example: mgtune peers import peers.json\n"
           "         mgtune peers import norm.json --name quack --operator rmsnorm.forward\n"
           "             --problem T=bf16 --gpu H200 --date 2026-11-23";
  }
  void declare(ArgumentList& arguments) override {
    arguments.word("ACTION", action_, {"import", "list"}, "import or list");
    arguments.words("FILE", files_, "import: one or more files");
    arguments.value("--operator", words_.op, "NAME", "The operator: rmsnorm.forward");
    arguments.value("--problem", problem_, "NAME=VALUE,...",
                    "Values that belong to every problem: T=bf16,dw=true");
    arguments.value("--name", words_.name, "NAME", "The implementation: liger");
    arguments.value("--peer-version", words_.version, "VERSION", "The implementation's version");
    arguments.gpu(words_.gpu, "import: the GPU of the times; list: only its times");
    arguments.value("--method", words_.method, "WORD",
                    "How the times were taken: graph, rotating, cuda_events, ...");
    arguments.value("--driver", words_.driver, "VERSION", "The version of the driver");
    arguments.value("--cuda", words_.cuda, "VERSION", "The version of CUDA");
    arguments.value("--framework", words_.framework, "TEXT", "\"torch 2.11.0, triton 3.6.0\"");
    arguments.value("--date", words_.measured_at, "DATE",
                    "When it was timed: 2026-11-23 or 2026-11-23T09:00:00Z");
    arguments.choice("--unit", words_.unit, {"ns", "us", "ms", "s"}, "UNIT",
                     "The unit of a data frame whose columns do not say it");
    arguments.values("--kernel", kernels_, "FOLDER",
                     "import: the folder of a family of your own; list: only this kernel");
    arguments.database(database_);
    arguments.json(json_);
  }
  Result<ExitCode> run(const Invocation&) override { return action_ == "list" ? list() : import(); }

 private:
  Result<ExitCode> import() {
    if (files_.empty()) {
      return invalid_argument("FILE is required\nSee 'mgtune peers --help'.");
    }
    if (!problem_.empty()) {
      MGTUNE_ASSIGN(words_.problem, parse_assignments(problem_));
    }
    MGTUNE_ASSIGN(const PeerWords words, checked_words(words_));
    Catalog catalog(FileSystem::real());
    for (const std::string& kernel : kernels_) MGTUNE_TRY(catalog.find(kernel).status());
    if (!words.op.empty()) MGTUNE_TRY(catalog.find_operator(words.op).status());
    const Result<ReadPeers> read = read_peers(FileSystem::real(), files_, words, catalog);
    if (!read.ok()) {  // the message quotes a file of unknown origin
      return Status(read.status().code(), printable(read.status().message()));
    }
    MGTUNE_ASSIGN(Store store, open_results_to_write(database_));
    MGTUNE_ASSIGN(const PeerCounts counts, store.import_peers(read->peers));
    print(*read, counts, store.path());
    return ExitCode::ok;
  }

  void print(const ReadPeers& read, const PeerCounts& counts, const std::string& database) const {
    if (json_) {
      Json left_out = Json::object();
      for (const auto& [reason, rows] : read.left_out) left_out[reason] = rows;
      const Json document = {{"format", 1},
                             {"database", database},
                             {"added", counts.added},
                             {"known", counts.known},
                             {"left_out", left_out}};
      std::cout << document.document_text();
      return;
    }
    std::set<std::string> names;
    for (const PeerView& view : read.peers) names.insert(view.peer.name);
    std::cout << "imported " << counted(counts.added, "time") << " of "
              << printable_line(names.empty() ? "no implementation" : listed(names)) << " into "
              << database << '\n';
    if (counts.known > 0) std::cout << "known already: " << counted(counts.known, "time") << '\n';
    for (const auto& [reason, rows] : read.left_out) {
      std::cout << "left out: " << counted(rows, "row") << ' ' << printable_line(reason) << '\n';
    }
  }

  Result<ExitCode> list() {
    if (!files_.empty()) {
      return invalid_argument(
          "'mgtune peers list' reads no FILE; did you mean 'mgtune peers "
          "import " +
          files_.front() + "'?");
    }
    MGTUNE_ASSIGN(std::optional<Store> store, open_results(database_));
    std::vector<PeerView> peers;
    if (store.has_value()) {
      MGTUNE_ASSIGN(peers, store->peers());
    }
    MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
    std::erase_if(peers, [&](const PeerView& view) {
      const bool is_wanted_kernel =
          kernels_.empty() || std::ranges::any_of(kernels_, [&](const std::string& kernel) {
            return means_operator(kernel, view.op);
          });
      const bool is_wanted_gpu =
          words_.gpu.empty() || means_gpu(products, words_.gpu, view.peer.gpu);
      return !is_wanted_kernel || !is_wanted_gpu;
    });
    if (json_) {
      std::cout << peers_json(peers);
    } else {
      std::cout << peers_table(peers);
    }
    return ExitCode::ok;
  }

  std::string action_, problem_, database_;
  std::vector<std::string> files_, kernels_;
  PeerWords words_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_peers_command() { return std::make_unique<PeersCommand>(); }

}  // namespace mgtune
