#include "exchange/collect_results.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/text.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {
namespace {

using Origins = std::map<std::int64_t, Origin>;  // by sweep

Result<Origins> read_origins(Store& store) {
  MGTUNE_ASSIGN(const std::vector<SweepView> sweeps, store.sweeps());
  Origins origins;
  for (const SweepView& view : sweeps) {
    origins[view.sweep.id] = {view.environment, view.sweep.started_at};
  }
  return origins;
}

int compare(const GpuRecord& a, const GpuRecord& b) {
  if (a.emulation != b.emulation) return a.emulation ? 1 : -1;
  if (const int order = compare_naturally(a.model, b.model); order != 0) return order;
  const auto rest = [](const GpuRecord& gpu) {
    return std::tie(gpu.model, gpu.arch, gpu.mig_profile, gpu.sm_count, gpu.l2_bytes,
                    gpu.memory_bytes, gpu.max_shared_bytes);
  };
  if (rest(a) == rest(b)) return 0;
  return rest(a) < rest(b) ? -1 : 1;
}

// Different texts that compare_naturally() calls the same differ in leading zeros.
int compare_texts(const std::string& a, const std::string& b) {
  const int order = compare_naturally(a, b);
  return order != 0 ? order : a.compare(b);
}

// Operators, then GPUs before emulation.
template <typename Group>
int compare_groups(const Group& a, const Group& b) {
  if (const int order = a.op.compare(b.op); order != 0) return order;
  return compare(a.gpu, b.gpu);
}

bool table_before(const TunedTable& a, const TunedTable& b) {
  const int order = compare_groups(a, b);
  return order != 0 ? order < 0 : a.environment < b.environment;
}

bool pick_before(const TunedTableRow& a, const TunedTableRow& b) {
  const int order = compare_texts(a.view.problem, b.view.problem);
  return order != 0 ? order < 0 : a.view.tuned.method < b.view.tuned.method;
}

bool recording_before(const VariantRecording& a, const VariantRecording& b) {
  if (const int order = compare_groups(a, b); order != 0) return order < 0;
  const int order = compare_texts(a.problem, b.problem);
  return order != 0 ? order < 0 : a.method < b.method;
}

bool outcome_before(const RecordedOutcome& a, const RecordedOutcome& b) {
  if (const int order = compare_groups(a.view, b.view); order != 0) return order < 0;
  if (const int order = compare_texts(a.view.problem, b.view.problem); order != 0) return order < 0;
  const auto method = [](const OutcomeView& view) {
    return view.measurement ? view.measurement->method : "";
  };
  if (method(a.view) != method(b.view)) return method(a.view) < method(b.view);
  return compare_texts(a.view.variant, b.view.variant) < 0;
}

std::vector<TunedTableRow> with_origins(std::vector<TunedView> views, Origins& origins) {
  std::vector<TunedTableRow> rows;
  rows.reserve(views.size());
  for (TunedView& view : views) {
    const Origin& origin = origins[view.tuned.sweep];
    rows.push_back({std::move(view), origin.environment, origin.measured_at});
  }
  return rows;
}

bool has_time(const RecordedOutcome& row) {
  const bool ranked = row.view.outcome == Outcome::ok || row.view.outcome == Outcome::raced_out;
  return ranked && row.view.measurement && row.view.measurement->median_ns > 0;
}

std::size_t origin_index(VariantRecording& recording, const Origin& origin) {
  const auto found = std::ranges::find(recording.origins, origin);
  if (found != recording.origins.end()) {
    return static_cast<std::size_t>(found - recording.origins.begin());
  }
  recording.origins.push_back(origin);
  return recording.origins.size() - 1;
}

// `rows` are those of one operator, GPU and problem, sorted by variant.
VariantRecording recording_of(const std::vector<const RecordedOutcome*>& rows,
                              const std::string& method) {
  const OutcomeView& first = rows.front()->view;
  VariantRecording recording{first.op, first.problem, method, first.gpu, {}, {}};
  for (const RecordedOutcome* row : rows) {
    const OutcomeView& view = row->view;
    if (view.measurement && view.measurement->method != method) continue;
    RecordedVariant variant;
    variant.variant = split_variant(view.variant);
    variant.outcome = view.outcome;
    if (has_time(*row)) {
      variant.measurement = *view.measurement;
    } else if (view.outcome == Outcome::ok || view.outcome == Outcome::raced_out) {
      continue;  // without a time there is nothing to say
    }
    variant.origin = origin_index(recording, row->origin);
    recording.variants.push_back(std::move(variant));
  }
  return recording;
}

void add_recordings(std::vector<const RecordedOutcome*> rows,
                    std::vector<VariantRecording>& recordings) {
  std::ranges::sort(rows, [](const RecordedOutcome* a, const RecordedOutcome* b) {
    return compare_texts(a->view.variant, b->view.variant) < 0;
  });
  std::set<std::string> methods;
  for (const RecordedOutcome* row : rows) {
    if (has_time(*row)) methods.insert(row->view.measurement->method);
  }
  for (const std::string& method : methods) recordings.push_back(recording_of(rows, method));
}

// `outcomes` are sorted: those of one operator, GPU and problem stand together.
std::vector<VariantRecording> make_recordings(const std::vector<RecordedOutcome>& outcomes) {
  std::vector<VariantRecording> recordings;
  std::vector<const RecordedOutcome*> rows;
  for (const RecordedOutcome& row : outcomes) {
    if (!rows.empty() && (compare_groups(rows.front()->view, row.view) != 0 ||
                          rows.front()->view.problem != row.view.problem)) {
      add_recordings(std::exchange(rows, {}), recordings);
    }
    rows.push_back(&row);
  }
  if (!rows.empty()) add_recordings(std::move(rows), recordings);
  std::ranges::sort(recordings, recording_before);
  return recordings;
}

bool offers(const Operator& op, const std::string& problem, const std::string& variant) {
  const auto words = parse_assignments(problem);
  return words.ok() && bind_problem(op, *words).ok() && parse_variant(op, variant).ok();
}

bool offers(const Operator& op, const TunedTableRow& row) {
  const TunedRecord& tuned = row.view.tuned;
  if (has_default(tuned) && !offers(op, row.view.problem, tuned.default_variant)) return false;
  return offers(op, row.view.problem, tuned.variant);
}

}  // namespace

std::vector<TunedTable> make_tuned_tables(const std::vector<TunedTableRow>& rows) {
  std::vector<TunedTable> tables;
  for (const TunedTableRow& row : rows) {
    const auto same = std::ranges::find_if(tables, [&](const TunedTable& table) {
      return table.op == row.view.op && table.gpu == row.view.gpu &&
             table.environment == row.environment;
    });
    TunedTable& table =
        same != tables.end()
            ? *same
            : tables.emplace_back(TunedTable{row.view.op, row.view.gpu, row.environment, {}});
    table.picks.push_back(row);
  }
  std::ranges::sort(tables, table_before);
  for (TunedTable& table : tables) std::ranges::sort(table.picks, pick_before);
  return tables;
}

bool Selection::wants(const std::string& op, const GpuRecord& gpu,
                      const std::string& problem_text) const {
  if (wants_operator && !wants_operator(op)) return false;
  if (wants_gpu && !wants_gpu(gpu)) return false;
  const auto words = parse_assignments(problem_text);
  return std::ranges::all_of(problem, [&](const auto& wanted) {
    if (!words.ok()) return false;
    const auto word = words->find(wanted.first);
    // A false flag and an absent tensor are left out of the text.
    return word == words->end() ? wanted.second == "false" : word->second == wanted.second;
  });
}

Result<ExchangedResults> collect_results(Store& store, const Selection& selection) {
  MGTUNE_ASSIGN(Origins origins, read_origins(store));
  MGTUNE_ASSIGN(std::vector<TunedView> tuned, store.tuned());
  MGTUNE_ASSIGN(std::vector<OutcomeView> views, store.outcomes());
  std::erase_if(tuned, [&](const TunedView& row) {
    return !selection.wants(row.op, row.gpu, row.problem) ||
           (!selection.method.empty() && row.tuned.method != selection.method);
  });
  ExchangedResults results;
  results.tables = make_tuned_tables(with_origins(std::move(tuned), origins));
  for (OutcomeView& view : views) {
    const bool other_method = !selection.method.empty() && view.measurement &&
                              view.measurement->method != selection.method;
    if (other_method || !selection.wants(view.op, view.gpu, view.problem)) continue;
    const std::int64_t sweep = view.sweep;
    results.outcomes.push_back({std::move(view), origins[sweep]});
  }
  std::ranges::sort(results.outcomes, outcome_before);
  results.recordings = make_recordings(results.outcomes);
  return results;
}

std::size_t remove_stale(ExchangedResults& results, Catalog& catalog) {
  std::size_t removed = 0;
  for (TunedTable& table : results.tables) {
    const Result<const Operator*> op = catalog.find_operator(table.op);
    if (!op.ok()) continue;
    removed +=
        std::erase_if(table.picks, [&](const TunedTableRow& row) { return !offers(**op, row); });
  }
  for (VariantRecording& recording : results.recordings) {
    const Result<const Operator*> op = catalog.find_operator(recording.op);
    if (!op.ok()) continue;
    removed += std::erase_if(recording.variants, [&](const RecordedVariant& row) {
      return !offers(**op, recording.problem, row.variant.text());
    });
  }
  std::erase_if(results.tables, [](const TunedTable& table) { return table.picks.empty(); });
  std::erase_if(results.recordings,
                [](const VariantRecording& recording) { return recording.variants.empty(); });
  return removed;
}

}  // namespace mgtune
