#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <set>

#include "cli/command.h"
#include "core/gzip.h"
#include "core/text.h"
#include "exchange/bundle.h"
#include "exchange/collect_results.h"
#include "exchange/formats.h"
#include "results/result_words.h"
#include "results/stored_results.h"
#include "system/file_system.h"
#include "text/printable.h"
#include "text/units.h"

namespace mgtune {
namespace {

constexpr std::size_t kListedDocuments = 5;

class ExportCommand final : public Command {
 public:
  std::string details() const override {
    std::string lines;
    for (const ExchangeFormat& format : exchange_formats()) {
      lines += fmt::format("{:<13} {}\n", format.name, format.summary);
    }
    return lines +
           "If FILE ends in .gz, it is compressed. A FOLDER exists already or ends in /. It\n"
           "gets one file per GPU and operator, or per problem and method if the format holds\n"
           "one of them.\n"
           "Examples: mgtune export --bundle -o site.bundle.json.gz\n"
           "          mgtune export --format t4 --gpu H200 rmsnorm -o recordings/";
  }
  void declare(ArgumentList& arguments) override {
    std::vector<std::string> formats;
    for (const ExchangeFormat& format : exchange_formats()) formats.emplace_back(format.name);
    arguments.choice("--format", format_, formats, "NAME",
                     "tuned (default), kernel-tuner, t4 or csv");
    arguments.kernel_and_gpu(filter_);
    arguments.value("--problem", filter_.problem, "NAME=N,...", "Only problems with these values");
    arguments.value("--method", filter_.method, "NAME",
                    "Only times of this method: rotating, graph, ...");
    arguments.flag(
        "--bundle", bundle_,
        "One file to share: tuned tables of all selected results with the environment "
        "that measured them, and the rules beside the database; no paths, no host names");
    arguments.value("-o,--output", output_, "FILE|FOLDER",
                    "Where to write it (default: standard output)");
    arguments.database(database_);
  }
  Result<ExitCode> run(const Invocation&) override {
    MGTUNE_ASSIGN(std::optional<Store> store, open_results(database_));
    if (!store.has_value()) {
      MGTUNE_TRY(select_kernel_and_gpu(filter_, {}).status());
      return nothing_to_export("there are no results yet");
    }
    MGTUNE_ASSIGN(ExchangedResults results, read(*store));
    if (bundle_) return write_bundle(results, store->path());
    MGTUNE_ASSIGN(const std::vector<Document> documents, format().write(results, to_folder()));
    if (documents.empty()) {
      return nothing_to_export("this store has no such results that the format can hold");
    }
    return write(documents);
  }

 private:
  const ExchangeFormat& format() const {
    return *std::ranges::find(exchange_formats(), format_, &ExchangeFormat::name);
  }

  Result<ExchangedResults> read(Store& store) const {
    Catalog catalog(FileSystem::real());
    MGTUNE_ASSIGN(const Selection selection, select_results(filter_, store, catalog));
    MGTUNE_ASSIGN(ExchangedResults results, collect_results(store, selection));
    for (const std::string& sentence : remove_unusable(results, catalog).sentences()) {
      std::cerr << "mgtune: " << printable(sentence) << '\n';
    }
    return results;
  }

  bool to_folder() const {
    return output_.ends_with('/') || FileSystem::real().is_directory(output_);
  }

  Result<ExitCode> write(const std::vector<Document>& documents) const {
    if (to_folder()) return write_folder(documents);
    if (documents.size() > 1) return too_many(documents);
    return write_file(documents.front().content);
  }

  Result<ExitCode> write_bundle(const ExchangedResults& results,
                                const std::string& database) const {
    if (format_ != "tuned") {
      return invalid_argument("--bundle has tuned tables, so it has no --format " + format_);
    }
    if (to_folder()) return invalid_argument("--bundle is one file: -o site.bundle.json.gz");
    MGTUNE_ASSIGN(const std::vector<Document> documents, format().write(results, true));
    std::vector<BundlePart> parts;
    std::map<std::string, int> names;  // GPUs with the same model name can differ otherwise
    for (const Document& document : documents) {
      std::string name = document.name;
      const int count = ++names[document.name];
      if (count > 1) name.insert(name.find('.'), "-" + std::to_string(count));
      parts.push_back({name, document.content});
    }
    MGTUNE_ASSIGN(std::vector<BundlePart> rules, rules_beside(FileSystem::real(), database));
    std::ranges::move(rules, std::back_inserter(parts));
    if (parts.empty()) return nothing_to_export("this store has no picks");
    utsname names_of_machine{};
    const std::string host = uname(&names_of_machine) == 0 ? names_of_machine.nodename : "";
    MGTUNE_ASSIGN(const std::string content, bundle_document(parts, host));
    for (const BundlePart& part : parts) std::cerr << "bundled " << part.name << '\n';
    return write_file(content);
  }

  Result<ExitCode> write_file(std::string content) const {
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
      // GPUs with the same model name can differ in other properties.
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
    std::string text = fmt::format(
        "--format {} holds one problem, GPU and method per file, and this is {} files: name a "
        "folder (-o FOLDER/), or choose one with --kernel, --problem, --gpu and --method",
        format_, documents.size());
    for (std::size_t i = 0; i < std::min(documents.size(), kListedDocuments); ++i) {
      text += "\n  " + documents[i].name;
    }
    if (documents.size() > kListedDocuments) text += "\n  ...";
    return invalid_argument(text);
  }

  std::string format_ = "tuned", output_, database_;
  ResultFilter filter_;
  bool bundle_ = false;
};

}  // namespace

std::unique_ptr<Command> make_export_command() { return std::make_unique<ExportCommand>(); }

}  // namespace mgtune
