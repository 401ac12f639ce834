#include "api/tuned_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "api/source_file.h"
#include "core/warn_once.h"
#include "json/json_cursor.h"
#include "json/json_value.h"
#include "pack/pack.h"
#include "selection/evidence.h"
#include "selection/variant_selection.h"
#include "store/store.h"
#include "system/file_system.h"
#include "system/user_folders.h"
#include "tables/read_tuned_table.h"

namespace mgtune {
namespace {

namespace fs = std::filesystem;

constexpr char kInstalledFolder[] = "share/mgtune/results";

std::string counted_text(const std::string& path, std::size_t rows) {
  return fmt::format("{}, {} tuned problem{}", path, rows, rows == 1 ? "" : "s");
}

void note(std::string text, TunedSource& source) {
  warn_once(text, text);
  source.notes.push_back(std::move(text));
}

Status in_file(const std::string& path, Status failure) {
  // The error is in the file, not in the words that name it.
  if (failure.code() == StatusCode::invalid_argument) return corrupt(failure.message());
  return std::move(failure).with_context(path);
}

Result<std::vector<TunedView>> read_table_text(const std::string& path, std::string_view text,
                                               Catalog& catalog) {
  const Result<JsonValue> value = parse_json(text);
  if (!value.ok()) return corrupt(path + ": " + value.status().message());
  Result<std::vector<TunedTableRow>> rows =
      read_tuned_table(JsonCursor(path, *value), catalog, UnknownOperators::skip);
  if (!rows.ok()) {
    const bool malformed = rows.status().code() == StatusCode::invalid_argument;
    return malformed ? corrupt(rows.status().message()) : rows.status();
  }
  std::vector<TunedView> views;
  views.reserve(rows->size());
  for (TunedTableRow& row : *rows) views.push_back(std::move(row.view));
  return views;
}

Result<TunedSource> read_table(const std::string& path, std::string_view text, Catalog& catalog) {
  TunedSource source;
  MGTUNE_ASSIGN(source.rows, read_table_text(path, text, catalog));
  source.text = counted_text(path, source.rows.size());
  return source;
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
  const bool is_for_it =
      std::ranges::any_of(source.rows, [&](const TunedView& row) { return row.gpu == here; });
  if (is_for_it || source.rows.empty()) return;
  note(fmt::format("{} is for {}, not for this {}: variants are chosen as for the nearest GPU, and "
                   "builds that it lacks are compiled",
                   path, models_of(source.rows), device.name),
       source);
}

Result<TunedSource> read_pack(const std::string& path, const std::string& bytes, Catalog& catalog,
                              const DeviceInfo& device) {
  Result<Pack> pack = decode_pack(bytes);
  if (!pack.ok()) return in_file(path, std::move(pack).take_status());
  TunedSource source;
  MGTUNE_ASSIGN(source.rows, read_table_text(path, pack->table, catalog));
  const std::size_t builds = pack->builds.size();
  source.text = fmt::format("{} and {} build{}", counted_text(path, source.rows.size()), builds,
                            builds == 1 ? "" : "s");
  if (const Status skew = check_builds_run(*pack, device); !skew.ok()) {
    note(path + ": " + skew.message() + ": what it holds is compiled instead", source);
    return source;
  }
  note_other_gpu(path, device, source);
  source.builds = std::make_shared<PackedBuilds>(std::move(pack->builds));
  return source;
}

using Operators = std::map<std::string, const Operator*>;

// The operators of the rows, by name. Operators that the catalog does not know are left out.
Operators operators_of(const TunedSource& source, Catalog& catalog) {
  std::set<std::string> names;
  for (const TunedView& row : source.rows) names.insert(row.op);
  for (const auto& problem : source.measured.problems) names.insert(problem.op);
  Operators operators;
  for (const std::string& name : names) {
    if (const Result<const Operator*> op = catalog.find_operator(name); op.ok()) {
      operators.emplace(name, *op);
    }
  }
  return operators;
}

// Leaves out the tuned rows of known operators for which `is_stale(operator, row)` is true.
template <class IsStale>
void leave_out(const std::string& path, const Operators& operators, const IsStale& is_stale,
               TunedSource& source) {
  const std::size_t stale = std::erase_if(source.rows, [&](const TunedView& row) {
    const auto op = operators.find(row.op);
    return op != operators.end() && is_stale(*op->second, row);
  });
  if (stale == 0) return;
  note(fmt::format("{}: {} tuned problem{} that the operators do not offer any more", path, stale,
                   stale == 1 ? "" : "s"),
       source);
}

bool has_other_variant(const Operator& op, const TunedView& row) {
  return is_of_another_version(op, row.tuned.variant);
}

Result<TunedSource> read_rows(const std::string& path) {
  TunedSource source;
  MGTUNE_ASSIGN(Store store, Store::open(path, Store::Mode::read_only));
  MGTUNE_ASSIGN(source.rows, store.tuned());
  MGTUNE_ASSIGN(source.measured, store.measured());
  return source;
}

Result<TunedSource> read_database(const std::string& path, Catalog& catalog) {
  MGTUNE_ASSIGN(TunedSource source, read_rows(path));
  const Operators operators = operators_of(source, catalog);
  leave_out(path, operators, has_other_variant, source);
  for (const auto& [name, op] : operators) {
    const Status offered = check_offered(*op, source.rows, source.measured);
    if (!offered.ok()) return corrupt(path + ": " + offered.message());
  }
  source.text = counted_text(path, source.rows.size());
  return source;
}

// The user's own results outlive edits of their families, so stale rows are left out.
// decode_evidence() leaves out stale measurements.
Result<TunedSource> read_own_database(const std::string& path, Catalog& catalog) {
  MGTUNE_ASSIGN(TunedSource source, read_rows(path));
  const auto is_stale = [](const Operator& op, const TunedView& row) {
    return has_other_variant(op, row) || !check_offered(op, {&row, 1}, {}).ok();
  };
  leave_out(path, operators_of(source, catalog), is_stale, source);
  source.text = counted_text(path, source.rows.size());
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

}  // namespace

std::vector<std::string> InstalledTables::files() {
  const fs::path library = folder_of_this_code();
  if (library.empty()) return {};
  for (const char* up : {"..", "../.."}) {
    const std::string folder = (library / up / kInstalledFolder).lexically_normal().string();
    const Result<std::vector<std::string>> names = FileSystem::real().list_files(folder);
    if (!names.ok()) continue;
    std::vector<std::string> tables;
    for (const std::string& name : *names) {
      if (name.ends_with(".tuned.json")) tables.push_back((fs::path(folder) / name).string());
    }
    return tables;
  }
  return {};
}

Status InstalledTables::add(const std::string& path) {
  MGTUNE_ASSIGN(const SourceFile file, read_source_file(path));
  Result<JsonValue> document = parse_json(file.content);
  if (!document.ok()) return corrupt(path + ": " + document.status().message());
  tables_.push_back({path, std::move(document).value()});
  return {};
}

InstalledTables::Rows InstalledTables::load(const Operator& op) {
  Rows all;
  const auto [loaded, is_first] = loaded_.try_emplace(op.full_name(), 0);
  if (!is_first) return all;
  for (const Table& table : tables_) {
    Result<std::vector<TunedTableRow>> rows =
        read_tuned_rows(JsonCursor(table.path, table.document), op);
    if (!rows.ok()) {
      all.failures.push_back(rows.status().message());
      continue;
    }
    for (TunedTableRow& row : *rows) all.rows.push_back(std::move(row.view));
  }
  loaded->second = all.rows.size();
  return all;
}

std::size_t InstalledTables::loaded(const std::string& op) const {
  const auto found = loaded_.find(op);
  return found == loaded_.end() ? 0 : found->second;
}

Result<TunedSource> read_tuned_source(const std::string& path, Catalog& catalog,
                                      const DeviceInfo& device) {
  MGTUNE_ASSIGN(const SourceFile file, read_source_file(path));
  switch (file.kind) {
    case SourceFile::Kind::table:
      return read_table(path, file.content, catalog);
    case SourceFile::Kind::pack:
      return read_pack(path, file.content, catalog, device);
    case SourceFile::Kind::database:
      break;
  }
  return read_database(path, catalog);
}

void add_rows(std::vector<TunedView> more, std::vector<TunedView>& rows) {
  std::vector<GpuRecord> gpus;
  const auto number = [&gpus](TunedView& row) {
    const auto known = std::ranges::find(gpus, row.gpu);
    row.tuned.gpu = known - gpus.begin() + 1;
    if (known == gpus.end()) gpus.push_back(row.gpu);
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

Result<TunedSource> open_tuned_sources(const std::string& named, Catalog& catalog,
                                       const DeviceInfo& device) {
  const std::string path = named.empty() ? environment_variable("MGTUNE_DB") : named;
  if (!path.empty()) {
    Result<TunedSource> source = read_tuned_source(path, catalog, device);
    if (source.ok() || source.status().code() != StatusCode::not_found) return source;
    TunedSource none;
    none.text = path + " does not exist";
    return none;
  }
  MGTUNE_ASSIGN(TunedSource source, user_source(catalog));
  for (const std::string& file : InstalledTables::files()) {
    if (const Status added = source.installed.add(file); !added.ok()) note(added.message(), source);
  }
  return source;
}

void add_installed(const Operator& op, TunedSource& source) {
  InstalledTables::Rows installed = source.installed.load(op);
  for (std::string& failure : installed.failures) {
    // A file that is no table fails for every operator with the same message.
    if (std::ranges::find(source.notes, failure) == source.notes.end()) {
      note(std::move(failure), source);
    }
  }
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
