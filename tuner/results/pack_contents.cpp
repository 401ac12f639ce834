#include "results/pack_contents.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "build/builder.h"
#include "core/text.h"
#include "database/default_path.h"
#include "exchange/collect_results.h"
#include "exchange/formats.h"
#include "exchange/read_document.h"
#include "family/problem.h"
#include "family/variant.h"
#include "results/result_words.h"
#include "results/stored_results.h"
#include "selection/default_variants.h"
#include "selection/gpu_similarity.h"
#include "selection/variant_selection.h"
#include "source/rule_files.h"
#include "source/source_file.h"
#include "source/tuned_source.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

Status read_rows(const std::string& path, const std::string& text, Catalog& catalog,
                 OpenedRows& opened) {
  MGTUNE_ASSIGN(const JsonValue value, parse_document(path, text));
  Result<std::vector<TunedTableRow>> rows =
      read_tuned_table(JsonCursor(path, value), catalog, UnknownOperators::skip);
  if (!rows.ok()) return as_corrupt(std::move(rows).take_status());
  opened.rows = *std::move(rows);
  opened.notes = unknown_operator_sentences(path, value, catalog);
  return {};
}

// The usable tables for all GPUs: from the file, from the store, or from the tables that a program
// opens instead.
Result<std::vector<TunedTable>> all_tables(const PackRequest& request, Catalog& catalog,
                                           std::vector<std::string>& notes) {
  const auto is_meant = [&](const std::string& op) { return means_operator(request.kernel, op); };
  OpenedRows opened;
  if (!request.table.empty()) {
    MGTUNE_ASSIGN(const std::string text, read_document(FileSystem::real(), request.table));
    MGTUNE_TRY(read_rows(request.table, text, catalog, opened));
    opened.failed.add(user_failures(opened.notes));
  } else {
    MGTUNE_ASSIGN(opened, open_rows(request.database, catalog));
  }
  ExchangedResults results;
  if (opened.store.has_value()) {
    Selection selection;
    selection.wants_operator = is_meant;
    MGTUNE_ASSIGN(results, collect_results(*opened.store, selection));
    results.recordings.clear();
  } else {
    std::erase_if(opened.rows, [&](const TunedTableRow& row) { return !is_meant(row.view.op); });
    results.tables = make_tuned_tables(opened.rows);
    results.failed = std::move(opened.failed);
  }
  notes = std::move(opened.notes);
  std::ranges::move(remove_unusable(results, catalog).sentences(), std::back_inserter(notes));
  return std::move(results.tables);
}

Status nothing_tuned(const PackRequest& request, const std::string& gpu,
                     const std::vector<GpuProduct>& products, const std::vector<TunedTable>& tables,
                     const std::vector<std::string>& notes) {
  Names models;
  for (const TunedTable& table : tables) models.insert(table.gpu.model);
  const std::string there = models.empty()
                                ? ": 'mgtune sweep --kernel " + request.kernel + "' does that"
                                : "; there are results of " + listed(models);
  std::string message = "--gpu: nothing of " + request.kernel + " is tuned for '" + gpu + "'" +
                        there + gpu_suggestion(gpu, products, models);
  for (const std::string& note : notes) message += "\n" + note;
  return invalid_argument(std::move(message));
}

using WantedBuilds = std::map<std::string, WantedBuild>;  // by key

// A plan cannot choose a variant that this binding does not admit, so there is no build of it.
Status add_build(const Binding& binding, const Variant& variant, const DeviceInfo& device,
                 WantedBuilds& builds) {
  const Operator& op = *binding.op;
  const Result<Slots> slots = compile_slots(binding, variant, device.limits);
  if (!slots.ok() || !is_admissible(op, variant, *slots)) return {};
  WantedBuild wanted;
  MGTUNE_ASSIGN(wanted.request, variant_build_request(op, variant, *slots, device.arch));
  wanted.key = build_key(wanted.request, "");
  wanted.text = op.full_name() + " " + binding.text() + ": " + variant_text(op, variant);
  builds.emplace(wanted.key, std::move(wanted));
  return {};
}

// The shapes for which we look up the ladder's variant: the tuned shapes; each tuned shape with one
// of its dims replaced by every power of two; and the shapes whose dims are all the same power of
// two. Shapes that the operator refuses are left out.
std::vector<Problem> shapes_for_defaults(const Binding& binding,
                                         const std::vector<const TunedEntry*>& picks) {
  constexpr int kMaxOctave = 30;
  std::vector<std::string> names;
  for (const Dim& dim : binding.op->dims) {
    if (dim.kind != DimKind::fixed && !dim.fallback) names.push_back(dim.name);
  }
  std::set<std::map<std::string, std::int64_t>> shapes;
  for (int octave = 0; octave <= kMaxOctave; ++octave) {
    const std::int64_t extent = std::int64_t{1} << octave;
    std::map<std::string, std::int64_t> all;
    for (const std::string& name : names) all[name] = extent;
    shapes.insert(std::move(all));
    for (const TunedEntry* pick : picks) {
      std::map<std::string, std::int64_t> tuned;
      for (const std::string& name : names) tuned[name] = pick->problem.dim(name);
      shapes.insert(tuned);
      for (const std::string& name : names) {
        std::map<std::string, std::int64_t> moved = tuned;
        moved[name] = extent;
        shapes.insert(std::move(moved));
      }
    }
  }
  std::vector<Problem> problems;
  for (const auto& shape : shapes) {
    if (Result<Problem> problem = complete(binding, shape); problem.ok()) {
      problems.push_back(*std::move(problem));
    }
  }
  return problems;
}

// Adds the builds that plans of one operator on one GPU may need.
Status add_builds(const DeviceInfo& device, const Evidence& evidence, WantedBuilds& builds) {
  std::set<std::string> bindings;
  for (const TunedEntry& bound : evidence.tuned.all()) {
    const Binding binding = bound.problem.binding();
    if (!bindings.insert(binding.text()).second) continue;
    const std::vector<const TunedEntry*> picks = evidence.tuned.usable(binding, gpu_record(device));
    for (const TunedEntry* pick : picks) {
      MGTUNE_TRY(add_build(binding, pick->variant, device, builds));
    }
    if (const auto rules = rules_for(binding, device, evidence); rules != nullptr) {
      for (const VariantPattern& pattern : rules->variants) {
        const std::optional<Variant> variant = variant_of(pattern, binding, device.limits);
        if (variant) MGTUNE_TRY(add_build(binding, *variant, device, builds));
      }
    }
    const std::vector<Variant> ladder = default_ladder(binding, device.limits);
    for (const Problem& shape : shapes_for_defaults(binding, picks)) {
      for (const Variant& variant : default_variants(shape, ladder, device.limits)) {
        MGTUNE_TRY(add_build(binding, variant, device, builds));
      }
    }
  }
  return {};
}

// The files with rules that a program reads if it opens the source of the request.
Result<RuleFiles> rule_files_of(const PackRequest& request) {
  RuleFiles files;
  const std::string named = request.table.empty() ? only_source(request.database) : request.table;
  if (named.empty()) {
    MGTUNE_ASSIGN(const std::string path, default_database_path());
    files.add_folder(rules_folder_of(path));
    files.add_installed();
    return files;
  }
  MGTUNE_ASSIGN(const SourceFile file, read_source_file(named));
  if (file.kind == SourceFile::Kind::pack) {
    MGTUNE_ASSIGN(Pack pack, decode_pack(file.content));
    for (PackedRules& rules : pack.rules) files.add_text(rules.op, named, std::move(rules.text));
  }
  files.add_folder(rules_folder_of(named));
  return files;
}

// The rules of the pack that belong to the operator. Their texts were read before.
Result<std::vector<std::shared_ptr<const Rules>>> rules_of(const Operator& op,
                                                           const std::vector<PackedRules>& packed) {
  RuleFiles files;
  for (const PackedRules& rules : packed) files.add_text(rules.op, rules.op, rules.text);
  RuleFiles::Loaded loaded = files.load(op);
  if (!loaded.failures.empty()) return corrupt(loaded.failures.front());
  std::vector<std::shared_ptr<const Rules>> rules;
  for (Rules& one : loaded.rules) rules.push_back(std::make_shared<const Rules>(std::move(one)));
  return rules;
}

// Whether the failure is only this variant's. Other failures are the machine's and end the work.
bool is_of_variant(const Status& failure) {
  return failure.code() == StatusCode::compile_failed ||
         failure.code() == StatusCode::unsupported || failure.code() == StatusCode::timeout;
}

}  // namespace

Result<TunedText> tuned_text(const PackRequest& request, Catalog& catalog) {
  MGTUNE_TRY(catalog.find(request.kernel).status());
  TunedText tuned;
  ExchangedResults results;
  MGTUNE_ASSIGN(results.tables, all_tables(request, catalog, tuned.notes));
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  const std::vector<std::string> gpus = split_list(request.gpus);
  std::set<std::string> models;  // that the request names
  for (const std::string& gpu : gpus) {
    bool is_tuned = false;
    for (const TunedTable& table : results.tables) {
      if (!means_gpu(products, gpu, table.gpu.model)) continue;
      models.insert(table.gpu.model);
      is_tuned = true;
    }
    if (!is_tuned) return nothing_tuned(request, gpu, products, results.tables, tuned.notes);
  }
  std::erase_if(results.tables,
                [&](const TunedTable& table) { return !models.contains(table.gpu.model); });
  const auto emulated = std::ranges::count_if(
      results.tables, [](const TunedTable& table) { return table.gpu.emulation; });
  if (emulated > 0 && emulated < std::ssize(results.tables)) {
    return invalid_argument("--gpu: a pack is for GPUs or for cpu, not for both");
  }
  MGTUNE_ASSIGN(const std::vector<Document> documents, tuned_table_format().write(results, false));
  tuned.text = documents.front().content;
  return tuned;
}

Result<std::vector<PackedRules>> packed_rules(const PackRequest& request,
                                              const std::vector<TunedTableRow>& rows,
                                              Catalog& catalog) {
  MGTUNE_ASSIGN(const RuleFiles files, rule_files_of(request));
  std::map<std::string, std::vector<GpuRecord>> gpus;  // by operator
  for (const TunedTableRow& row : rows) gpus[row.view.op].push_back(row.view.gpu);
  std::vector<PackedRules> packed;
  for (const auto& [name, tuned] : gpus) {
    MGTUNE_ASSIGN(const Operator* op, catalog.find_operator(name));
    RuleFiles::Loaded loaded = files.load(*op);
    if (!loaded.failures.empty()) return corrupt(loaded.failures.front());
    for (std::size_t i = 0; i < loaded.rules.size(); ++i) {
      const bool is_wanted = std::ranges::any_of(
          tuned, [&](const GpuRecord& gpu) { return is_same_gpu(loaded.rules[i].gpu, gpu); });
      if (is_wanted) packed.push_back({name, std::move(loaded.texts[i])});
    }
  }
  return packed;
}

Result<std::vector<WantedBuild>> wanted_builds(const std::vector<TunedTableRow>& rows,
                                               const std::vector<PackedRules>& rules,
                                               Catalog& catalog) {
  std::map<std::pair<std::string, std::int64_t>, std::vector<TunedView>> groups;
  for (const TunedTableRow& row : rows) {
    groups[{row.view.op, row.view.tuned.gpu}].push_back(row.view);
  }
  WantedBuilds builds;
  for (const auto& [group, views] : groups) {
    MGTUNE_ASSIGN(const Operator* op, catalog.find_operator(group.first));
    Evidence evidence(decode_tuned(*op, views));
    MGTUNE_ASSIGN(evidence.rules, rules_of(*op, rules));
    MGTUNE_TRY(add_builds(device_of(views.front().gpu), evidence, builds));
  }
  std::vector<WantedBuild> wanted;
  wanted.reserve(builds.size());
  for (auto& [key, build] : builds) wanted.push_back(std::move(build));
  return wanted;
}

Result<MadeBuilds> make_builds(const std::vector<WantedBuild>& wanted, std::size_t threads) {
  MadeBuilds made;
  Status failure;
  std::mutex mutex;  // protects `made` and `failure`
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    Builder builder(BuildCache::of_user());
    for (std::size_t i = next++; i < wanted.size(); i = next++) {
      Result<Build> build = builder.build(wanted[i].request);
      const std::lock_guard lock(mutex);
      if (build.ok()) {
        made.builds.push_back({wanted[i].key, *std::move(build)});
      } else if (is_of_variant(build.status())) {
        made.failed.push_back(wanted[i].text + ": " + build.status().message());
      } else {
        failure = std::move(build).take_status();
        next = wanted.size();
      }
    }
    const std::lock_guard lock(mutex);
    made.compiled += builder.compiled();
  };
  {
    std::vector<std::jthread> others;
    while (others.size() + 1 < std::min(threads, wanted.size())) others.emplace_back(work);
    work();
  }
  if (!failure.ok()) return failure;
  std::ranges::sort(made.failed);
  return made;
}

}  // namespace mgtune
