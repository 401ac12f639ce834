#include "source/tuned_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "core/warn_once.h"
#include "database/default_path.h"
#include "json/json_cursor.h"
#include "json/json_value.h"
#include "pack/pack.h"
#include "selection/near_ranges.h"
#include "selection/pick_key.h"
#include "selection/variant_selection.h"
#include "source/source_file.h"
#include "system/user_folders.h"
#include "tables/read_tuned_table.h"

namespace mgtune {
namespace {

std::string counted_text(const std::string& path, std::size_t rows) {
  return fmt::format("{}, {} tuned problem{}", path, rows, rows == 1 ? "" : "s");
}

void note(std::string text, TunedSource& source) {
  warn_once(text, text);
  source.notes.push_back(std::move(text));
}

// A sentence about a whole file is the same for every operator.
void note_once(std::vector<std::string> texts, TunedSource& source) {
  for (std::string& text : texts) {
    const bool is_known = std::ranges::find(source.notes, text) != source.notes.end();
    if (!is_known) note(std::move(text), source);
  }
}

Status in_file(const std::string& path, Status failure) {
  // The error is in the file, not in the words that name it.
  if (failure.code() == StatusCode::invalid_argument) return corrupt(failure.message());
  return std::move(failure).with_context(path);
}

// Adds the rows and the notes of the table to `file`.
Status read_table_text(const std::string& path, std::string_view text, Catalog& catalog,
                       TableFile& file) {
  const Result<JsonValue> value = parse_json(text);
  if (!value.ok()) return corrupt(path + ": " + value.status().message());
  Result<std::vector<TunedTableRow>> rows =
      read_tuned_table(JsonCursor(path, *value), catalog, UnknownOperators::skip);
  if (!rows.ok() && rows.status().code() == StatusCode::invalid_argument) {
    return corrupt(rows.status().message());
  }
  MGTUNE_ASSIGN(file.rows, std::move(rows));
  file.notes = unknown_operator_sentences(path, *value, catalog);
  return {};
}

std::string models_of(const std::vector<TunedView>& rows) {
  std::set<std::string> models;
  for (const TunedView& row : rows) models.insert(row.gpu.model);
  std::string text;
  for (const std::string& model : models) text += (text.empty() ? "" : ", ") + model;
  return text;
}

void note_other_gpu(const std::string& path, const DeviceInfo& device, TunedSource& source) {
  const GpuRecord here = gpu_record(device);
  const bool is_for_it = std::ranges::any_of(
      source.rows, [&](const TunedView& row) { return is_same_gpu(row.gpu, here); });
  if (is_for_it || source.rows.empty()) return;
  note(
      fmt::format("{} is for {}, not for this {}: its tuned problems do not count here, and builds "
                  "that it lacks are compiled",
                  path, models_of(source.rows), device.name),
      source);
}

// Takes the builds out of the pack if they run on the device.
void add_builds(const std::string& path, const DeviceInfo& device, TunedSource& source) {
  std::optional<Pack> pack = std::exchange(source.pack, std::nullopt);
  if (!pack) return;
  if (const Status skew = check_builds_run(*pack, device); !skew.ok()) {
    note(path + ": " + skew.message() + ": what it holds is compiled instead", source);
    return;
  }
  note_other_gpu(path, device, source);
  source.builds = std::make_shared<PackedBuilds>(std::move(pack->builds));
}

using Operators = std::map<std::string, const Operator*>;

// The operators of the rows, by name. Operators that the catalog does not know are left out.
Operators operators_of(const TunedSource& source, Catalog& catalog) {
  std::set<std::string> names;
  for (const TunedView& row : source.rows) names.insert(row.op);
  Operators operators;
  for (const std::string& name : names) {
    if (const Result<const Operator*> op = catalog.find_operator(name); op.ok()) {
      operators.emplace(name, *op);
    }
  }
  return operators;
}

// Decodes the rows that were read from a database. The rows of a table are judged again when their
// operator is asked for, because only then the user's failures are known.
void decode_rows(Catalog& catalog, TunedSource& source) {
  if (source.is_table) return;
  for (const auto& [name, op] : operators_of(source, catalog)) {
    source.decoded.emplace(name, decode_tuned(*op, source.rows));
  }
}

// Leaves out the rows from place `begin` on that cannot be used here. `op`: only rows of this
// operator; "": all rows.
void leave_out_unusable(const std::string& path, const std::string& op, std::size_t begin,
                        Catalog& catalog, TunedSource& source) {
  LeftOutRows left_out;
  const auto is_unusable = [&](const TunedView& row) {
    return (op.empty() || row.op == op) && left_out.leaves_out(row, catalog, source.failed);
  };
  const auto first = source.rows.begin() + static_cast<std::ptrdiff_t>(begin);
  source.rows.erase(std::remove_if(first, source.rows.end(), is_unusable), source.rows.end());
  for (const std::string& sentence : left_out.sentences()) {
    note(path.empty() ? sentence : fmt::format("{}: {}", path, sentence), source);
  }
}

Result<TunedSource> read_rows(const std::string& path) {
  TunedSource source;
  MGTUNE_ASSIGN(source.database, PickDatabase::open(path));
  PickDatabase::Content& content = source.database->content();
  source.rows = std::exchange(content.picks, {});
  source.failed.add(content.failures);
  source.rules.add_folder(rules_folder_of(path));
  return source;
}

void judge_database(const std::string& path, Catalog& catalog, TunedSource& source) {
  leave_out_unusable(path, "", 0, catalog, source);
  const auto keyed = static_cast<std::size_t>(source.database->content().keyed);
  source.text = counted_text(path, source.rows.size() + keyed);
}

Result<TunedSource> read_database(const std::string& path, Catalog& catalog) {
  MGTUNE_ASSIGN(TunedSource source, read_rows(path));
  source.is_named = true;
  for (const auto& [name, op] : operators_of(source, catalog)) {
    const Status offered = check_offered(*op, source.rows);
    if (!offered.ok()) return corrupt(path + ": " + offered.message());
  }
  judge_database(path, catalog, source);
  return source;
}

// The user's own results outlive edits of their families. So stale rows are left out, even if a
// value in them is not offered, and opening does not fail.
Result<TunedSource> read_own_database(const std::string& path, Catalog& catalog) {
  MGTUNE_ASSIGN(TunedSource source, read_rows(path));
  judge_database(path, catalog, source);
  return source;
}

TunedSource source_of(const std::string& path, TableFile file, Catalog& catalog) {
  TunedSource source;
  source.is_table = true;
  if (file.pack) {
    for (PackedRules& rules : file.pack->rules) {
      source.rules.add_text(rules.op, path + ": its rules of " + rules.op, std::move(rules.text));
    }
  }
  source.rules.add_folder(rules_folder_of(path));
  // Rows of unknown operators are only noted and not printed, because a program that does not know
  // an operator does not miss its rows.
  source.notes = std::move(file.notes);
  for (TunedTableRow& row : file.rows) source.rows.push_back(std::move(row.view));
  leave_out_unusable(path, "", 0, catalog, source);
  source.text = counted_text(path, source.rows.size());
  if (file.pack) {
    const std::size_t builds = file.pack->builds.size();
    source.text += fmt::format(" and {} build{}", builds, builds == 1 ? "" : "s");
  }
  source.pack = std::move(file.pack);
  return source;
}

// The user's database, if no source was named. It need not exist.
Result<TunedSource> user_source(Catalog& catalog) {
  TunedSource source;
  const Result<std::string> path = default_database_path();
  if (!path.ok()) {
    source.text = path.status().message();
    return source;
  }
  Result<TunedSource> own = read_own_database(*path, catalog);
  if (own.ok() || own.status().code() != StatusCode::not_found) return own;
  source.text = *path + " does not exist";
  return source;
}

// All evidence of the source about the operator, except the rows that plans find in a database.
std::shared_ptr<const Evidence> evidence_of(const Operator& op, Catalog& catalog,
                                            TunedSource& source) {
  const std::string name = op.full_name();
  std::shared_ptr<const Evidence>& known = source.evidence[name];
  if (known != nullptr) return known;
  if (source.is_table && !std::exchange(source.has_user_failures, true)) {
    std::vector<std::string> notes;
    source.failed.add(user_failures(notes));
    note_once(std::move(notes), source);
  }
  // The rows of a database were judged with its failures when it was opened.
  const std::size_t judged = source.is_table ? 0 : source.rows.size();
  add_installed(op, source);
  leave_out_unusable("", name, judged, catalog, source);
  auto evidence = std::make_shared<Evidence>();
  const auto decoded = source.decoded.find(name);
  const bool is_decoded = decoded != source.decoded.end();
  if (is_decoded) evidence->tuned = std::move(decoded->second);
  evidence->tuned.add(decode_tuned(op, std::span(source.rows).subspan(is_decoded ? judged : 0)));
  evidence->failed = source.failed;
  RuleFiles::Loaded loaded = source.rules.load(op);
  note_once(std::move(loaded.failures), source);
  for (Rules& one : loaded.rules) {
    evidence->rules.push_back(std::make_shared<const Rules>(std::move(one)));
  }
  return known = std::move(evidence);
}

// Decodes the rows that a plan found, and leaves out those that cannot be used here.
Result<Picks> usable_picks(const Operator& op, const std::vector<TunedView>& rows, Catalog& catalog,
                           TunedSource& source) {
  std::vector<DecodedPick> picks;
  LeftOutRows left_out;
  for (const TunedView& row : rows) {
    std::optional<DecodedPick> pick = decode_pick(op, row);
    if (!pick && source.is_named) {
      const Status offered = check_offered(op, std::span(&row, 1));
      if (!offered.ok()) return corrupt(source.database->path() + ": " + offered.message());
    }
    const bool is_usable = pick && use_of(pick->entry.problem, pick->entry.variant, row.gpu,
                                          source.failed) == RowUse::usable;
    if (is_usable) {
      picks.push_back(*std::move(pick));
    } else {
      left_out.leaves_out(row, catalog, source.failed);
    }
  }
  std::vector<std::string> notes;
  for (const std::string& sentence : left_out.sentences()) {
    notes.push_back(fmt::format("{}: {}", source.database->path(), sentence));
  }
  note_once(std::move(notes), source);
  return Picks(counted_picks(std::move(picks)));
}

}  // namespace

Result<std::optional<TableFile>> read_table_file(const std::string& path, Catalog& catalog) {
  MGTUNE_ASSIGN(const SourceFile file, read_source_file(path));
  TableFile table;
  switch (file.kind) {
    case SourceFile::Kind::database:
      return std::optional<TableFile>();
    case SourceFile::Kind::table: {
      MGTUNE_TRY(read_table_text(path, file.content, catalog, table));
      break;
    }
    case SourceFile::Kind::pack: {
      Result<Pack> pack = decode_pack(file.content);
      if (!pack.ok()) return in_file(path, std::move(pack).take_status());
      MGTUNE_TRY(read_table_text(path, pack->table, catalog, table));
      table.pack = *std::move(pack);
      break;
    }
  }
  return std::optional(std::move(table));
}

std::string only_source(const std::string& named) {
  return named.empty() ? environment_variable("MGTUNE_DB") : named;
}

Result<TunedSource> read_tuned_source(const std::string& path, Catalog& catalog) {
  MGTUNE_ASSIGN(std::optional<TableFile> table, read_table_file(path, catalog));
  if (!table) return read_database(path, catalog);
  return source_of(path, *std::move(table), catalog);
}

Result<TunedSource> read_tuned_source(const std::string& path, Catalog& catalog,
                                      const DeviceInfo& device) {
  MGTUNE_ASSIGN(TunedSource source, read_tuned_source(path, catalog));
  add_builds(path, device, source);
  return source;
}

void add_rows(std::vector<TunedView> more, std::vector<TunedView>& rows) {
  std::vector<GpuRecord> gpus;
  const auto number = [&gpus](TunedView& row) {
    const std::size_t place = find_same_gpu(gpus, row.gpu);
    row.tuned.gpu = static_cast<std::int64_t>(place) + 1;
    if (place == gpus.size()) gpus.push_back(row.gpu);
  };
  std::set<std::tuple<std::int64_t, std::string, std::string>> served;
  for (TunedView& row : rows) {
    number(row);
    served.emplace(row.tuned.gpu, row.op, row.problem);
  }
  for (TunedView& row : more) {
    number(row);
    if (!served.contains({row.tuned.gpu, row.op, row.problem})) rows.push_back(std::move(row));
  }
}

Result<TunedSource> open_default_sources(Catalog& catalog) {
  MGTUNE_ASSIGN(TunedSource source, user_source(catalog));
  for (const std::string& file : InstalledTables::files()) {
    if (const Status added = source.installed.add(file); !added.ok()) note(added.message(), source);
  }
  source.rules.add_installed();
  return source;
}

Result<TunedSource> open_tuned_sources(const std::string& named, Catalog& catalog,
                                       const DeviceInfo& device) {
  const std::string path = only_source(named);
  Result<TunedSource> source =
      path.empty() ? open_default_sources(catalog) : read_tuned_source(path, catalog, device);
  if (source.ok()) decode_rows(catalog, *source);
  if (source.ok() || path.empty() || source.status().code() != StatusCode::not_found) return source;
  TunedSource none;
  none.text = path + " does not exist";
  return none;
}

std::vector<FailureView> user_failures(std::vector<std::string>& notes) {
  const std::string folder = user_data_folder();
  if (folder.empty()) return {};
  const std::string path = folder + "/results.db";
  const Result<std::unique_ptr<PickDatabase>> database = PickDatabase::open(path);
  if (database.ok()) return std::move((*database)->content().failures);
  if (database.status().code() != StatusCode::not_found) {
    notes.push_back(
        fmt::format("{} cannot be read ({}), so variants that failed there are not excluded", path,
                    database.status().message()));
  }
  return {};
}

Result<std::shared_ptr<const Evidence>> evidence_for(const Binding& binding,
                                                     const std::vector<DimRange>& ranges,
                                                     const GpuRecord& gpu, Catalog& catalog,
                                                     TunedSource& source) {
  const Operator& op = *binding.op;
  if (source.database == nullptr) return evidence_of(op, catalog, source);
  // A pick that cannot be read is accepted, so that it is named among the rows that are left out.
  const NearRanges near(op, ranges);
  const auto accepts = [&](const std::string& text) {
    const Result<Problem> problem = decode_problem(op, text);
    return !problem.ok() || near.contains(problem->slots);
  };
  MGTUNE_ASSIGN(
      const PickDatabase::Nearest nearest,
      source.database->find(op.full_name(), key_of(binding, ranges), gpu, kMaxPicks, accepts));
  if (nearest.failures) {
    source.failed = FailedVariants();
    source.failed.add(*nearest.failures);
  }
  const std::shared_ptr<const Evidence> of_op = evidence_of(op, catalog, source);
  auto evidence = std::make_shared<Evidence>();
  MGTUNE_ASSIGN(evidence->tuned, usable_picks(op, nearest.picks, catalog, source));
  evidence->more = {of_op, &of_op->tuned};
  evidence->failed = source.failed.of(op.full_name());
  evidence->rules = of_op->rules;
  return std::shared_ptr<const Evidence>(std::move(evidence));
}

Result<std::vector<GpuRecord>> gpus_with_evidence(const Operator& op, Catalog& catalog,
                                                  TunedSource& source) {
  std::vector<GpuRecord> gpus;
  const auto add = [&](const GpuRecord& gpu) {
    if (find_same_gpu(gpus, gpu) == gpus.size()) gpus.push_back(gpu);
  };
  if (source.database != nullptr) {
    MGTUNE_ASSIGN(const std::vector<GpuRecord> stored,
                  source.database->gpus_with_picks(op.full_name()));
    for (const GpuRecord& gpu : stored) add(gpu);
  }
  const std::shared_ptr<const Evidence> evidence = evidence_of(op, catalog, source);
  for (const TunedEntry& entry : evidence->tuned.all()) add(entry.gpu);
  for (const std::shared_ptr<const Rules>& rules : evidence->rules) add(rules->gpu);
  return gpus;
}

void add_installed(const Operator& op, TunedSource& source) {
  InstalledTables::Rows installed = source.installed.load(op);
  note_once(std::move(installed.failures), source);
  if (!installed.rows.empty()) add_rows(std::move(installed.rows), source.rows);
}

std::string source_lines(const TunedSource& source, const std::string& op) {
  std::string text = "tables    " + source.text;
  if (!source.installed.empty()) {
    text += "; " + counted_text("installed tables", source.installed.loaded(op)) + " of " + op;
  }
  text += '\n';
  for (const std::string& note : source.notes) text += "note      " + note + '\n';
  return text;
}

}  // namespace mgtune
