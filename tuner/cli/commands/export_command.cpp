#include <algorithm>
#include <iostream>
#include <set>
#include <string_view>
#include <utility>

#include "cli/argument_list.h"
#include "cli/command.h"
#include "cli/output_file.h"
#include "cli/stored_results.h"
#include "system/file_system.h"
#include "core/suggest.h"
#include "exchange/collect_results.h"
#include "exchange/formats.h"
#include "exchange/gzip.h"
#include "family/problem.h"
#include "text/units.h"

namespace mgtune {
namespace {

constexpr std::size_t kListedDocuments = 5;

class ExportCommand final : public Command {
 public:
  std::string_view name() const override { return "export"; }
  std::string_view summary() const override { return "Write results as text: tables, recordings"; }
  std::string_view details() const override {
    static const std::string text = [] {
      std::string lines;
      for (const ExchangeFormat& format : exchange_formats()) {
        lines += std::string(format.name) + std::string(14 - format.name.size(), ' ') +
                 std::string(format.summary) + "\n";
      }
      return lines +
             "A FILE that ends in .gz is compressed. A FOLDER (it is there, or ends in /) gets a "
             "file\n"
             "per GPU and operator, or per problem and method where a format holds one of them.\n"
             "Example: mgtune export --format t4 --gpu H200 --kernel rmsnorm -o recordings/";
    }();
    return text;
  }
  void declare(ArgumentList& arguments) override {
    arguments.value("--format", format_, "NAME", "tuned (default), kernel-tuner, t4 or csv");
    arguments.value("--kernel", kernel_, "NAME", "Only this family or operator, or a folder's");
    arguments.value("--gpu", gpu_, "MODEL", "Only this GPU: H200, \"NVIDIA H200\", cpu");
    arguments.value("--problem", problem_, "NAME=N,...", "Only problems with these words");
    arguments.value("--method", method_, "NAME", "Only times by this method: rotating, graph, ...");
    arguments.value("-o,--output", output_, "FILE|FOLDER",
                    "Where to write it (default: standard output)");
    arguments.value("--db", database_, "FILE", "Database of results (default: the user's)");
  }
  Result<ExitCode> run(const Invocation&) override {
    MGTUNE_ASSIGN(const ExchangeFormat* format, find_format());
    MGTUNE_ASSIGN(std::optional<Store> store, open_results(database_));
    if (!store.has_value()) {
      MGTUNE_TRY(check_kernel(kernel_, {}));
      MGTUNE_TRY(check_gpu(gpu_, {}));
      return nothing("there are no results yet");
    }
    MGTUNE_ASSIGN(ExchangedResults results, read(*store));
    MGTUNE_ASSIGN(const std::vector<Document> documents, format->write(results, layout()));
    if (documents.empty()) return nothing("of that, this store has nothing that the format holds");
    return write(documents);
  }

 private:
  Result<const ExchangeFormat*> find_format() const {
    std::vector<std::string> names;
    for (const ExchangeFormat& format : exchange_formats()) {
      if (format.name == format_) return &format;
      names.emplace_back(format.name);
    }
    return invalid_argument("--format: unknown format '" + format_ + "'" +
                            did_you_mean(format_, names));
  }

  // A shell's pipe must not get an empty file that looks like results.
  Status nothing(const std::string& why) const {
    return not_found("nothing to export: " + why + "; 'mgtune show best' says what there is");
  }

  Result<ExchangedResults> read(Store& store) const {
    Catalog catalog(FileSystem::real());
    MGTUNE_ASSIGN(const Selection selection, select(store, catalog));
    MGTUNE_ASSIGN(ExchangedResults results, collect_results(store, selection));
    const std::size_t removed = remove_stale(results, catalog);
    if (removed > 0) {
      std::cerr << "left out " << counted(static_cast<std::int64_t>(removed), "row")
                << " that the operators do not offer any more\n";
    }
    return results;
  }

  // What the words mean; a folder's operators become known to the catalog.
  Result<Selection> select(Store& store, Catalog& catalog) const {
    Selection selection;
    Result<std::map<std::string, std::string>> words = parse_assignments(problem_);
    if (!words.ok()) return std::move(words).take_status().with_context("--problem");
    selection.problem = *std::move(words);
    selection.method = method_;
    if (kernel_.empty() && gpu_.empty() && problem_.empty() && method_.empty()) return selection;
    MGTUNE_ASSIGN(const RecordedNames names, recorded_names(store));
    const auto is_meant = [this](const std::string& op) { return means_operator(kernel_, op); };
    if (!kernel_.empty()) {
      const Status found = catalog.find(kernel_).status();
      if (found.code() == StatusCode::invalid_argument) return found;  // a malformed family
      MGTUNE_TRY(check_kernel(kernel_, names.operators));
      if (std::ranges::none_of(names.operators, is_meant)) {
        return nothing("no results of '" + kernel_ + "' in this store");
      }
      selection.wants_operator = is_meant;
    }
    if (!gpu_.empty()) {
      MGTUNE_TRY(check_gpu(gpu_, names.models));
      MGTUNE_ASSIGN(std::vector<GpuProduct> products, shipped_gpu_products());
      selection.wants_gpu = [this, products = std::move(products)](const GpuRecord& gpu) {
        return means_gpu(products, gpu_, gpu.model);
      };
    }
    Names of_problems;
    for (const auto& [op, recorded] : names.problem_names) {
      if (!is_meant(op)) continue;
      of_problems.insert(recorded.begin(), recorded.end());
      of_problems.merge(problem_names(catalog, op));
    }
    MGTUNE_TRY(check_problem(selection.problem, of_problems));
    MGTUNE_TRY(check_method(method_, names.methods));
    return selection;
  }

  bool to_folder() const {
    return output_.ends_with('/') || FileSystem::real().is_directory(output_);
  }
  ExchangeFormat::Layout layout() const {
    return to_folder() ? ExchangeFormat::Layout::folder : ExchangeFormat::Layout::file;
  }

  Result<ExitCode> write(const std::vector<Document>& documents) const {
    if (to_folder()) return write_folder(documents);
    if (documents.size() > 1) return too_many(documents);
    std::string content = documents.front().content;
    if (output_.empty()) {
      std::cout << content;
      return ExitCode::ok;
    }
    if (output_.ends_with(".gz")) {
      MGTUNE_ASSIGN(content, gzip(content));
    }
    MGTUNE_TRY(write_output(output_, "the export", content));
    std::cerr << "wrote " << output_ << '\n';
    return ExitCode::ok;
  }

  Result<ExitCode> write_folder(const std::vector<Document>& documents) const {
    MGTUNE_TRY(FileSystem::real().create_directories(output_, 0777));
    const std::string folder = output_.ends_with('/') ? output_ : output_ + "/";
    std::set<std::string> names;
    for (const Document& document : documents) {
      // GPUs of one model can differ in what no name says.
      std::string name = document.name;
      for (int i = 2; !names.insert(name).second; ++i) {
        name = document.name;
        name.insert(name.find('.'), "-" + std::to_string(i));
      }
      MGTUNE_TRY(write_output(folder + name, "the export", document.content));
      std::cerr << "wrote " << folder << name << '\n';
    }
    return ExitCode::ok;
  }

  Status too_many(const std::vector<Document>& documents) const {
    std::string text = "--format " + format_ +
                       " holds one problem, GPU and method a file; this is " +
                       std::to_string(documents.size()) +
                       ": name a folder (-o FOLDER/), or one by --kernel, --problem, --gpu, "
                       "--method";
    for (std::size_t i = 0; i < std::min(documents.size(), kListedDocuments); ++i) {
      text += "\n  " + documents[i].name;
    }
    if (documents.size() > kListedDocuments) text += "\n  ...";
    return invalid_argument(text);
  }

  std::string format_ = "tuned", kernel_, gpu_, problem_, method_, output_, database_;
};

}  // namespace

std::unique_ptr<Command> make_export_command() { return std::make_unique<ExportCommand>(); }

}  // namespace mgtune
