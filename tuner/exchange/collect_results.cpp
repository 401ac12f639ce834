#include "exchange/collect_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <set>
#include <string_view>
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

// A text that is compared in natural order. Different texts for which compare_naturally() returns 0
// differ only in leading zeros.
struct NaturalText {
  std::string_view text;

  bool operator==(const NaturalText&) const = default;
  std::strong_ordering operator<=>(const NaturalText& other) const {
    const int order = compare_naturally(text, other.text);
    return (order != 0 ? order : text.compare(other.text)) <=> 0;
  }
};

// The results are sorted by operator, then by GPU, with the cpu device last.
template <typename Group>
auto group_key(const Group& group) {
  const GpuRecord& gpu = group.gpu;
  return std::tuple(std::string_view(group.op), gpu.emulation, NaturalText{gpu.model},
                    std::string_view(gpu.arch), std::string_view(gpu.mig_profile), gpu.sm_count,
                    gpu.l2_bytes, gpu.memory_bytes, gpu.max_shared_bytes);
}

auto table_key(const TunedTable& table) {
  return std::tuple_cat(group_key(table), std::tie(table.environment));
}

auto pick_key(const TunedTableRow& row) {
  return std::tuple(NaturalText{row.view.problem}, std::string_view(row.view.tuned.method));
}

auto recording_key(const VariantRecording& recording) {
  return std::tuple_cat(group_key(recording), std::tuple(NaturalText{recording.problem},
                                                         std::string_view(recording.method)));
}

auto outcome_key(const RecordedOutcome& row) {
  const OutcomeView& view = row.view;
  const std::string_view method = view.measurement ? view.measurement->method : std::string_view();
  return std::tuple_cat(group_key(view),
                        std::tuple(NaturalText{view.problem}, method, NaturalText{view.variant}));
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

// `rows` belong to one operator, GPU and problem, and are sorted by variant.
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
      continue;  // its time is not known
    }
    variant.origin = origin_index(recording, row->origin);
    recording.variants.push_back(std::move(variant));
  }
  return recording;
}

void add_recordings(std::vector<const RecordedOutcome*> rows,
                    std::vector<VariantRecording>& recordings) {
  std::ranges::sort(rows, {},
                    [](const RecordedOutcome* row) { return NaturalText{row->view.variant}; });
  std::set<std::string> methods;
  for (const RecordedOutcome* row : rows) {
    if (has_time(*row)) methods.insert(row->view.measurement->method);
  }
  for (const std::string& method : methods) recordings.push_back(recording_of(rows, method));
}

// `outcomes` are sorted, so that those of one operator, GPU and problem are next to each other.
std::vector<VariantRecording> make_recordings(const std::vector<RecordedOutcome>& outcomes) {
  std::vector<VariantRecording> recordings;
  std::vector<const RecordedOutcome*> rows;
  for (const RecordedOutcome& row : outcomes) {
    if (!rows.empty() && (group_key(rows.front()->view) != group_key(row.view) ||
                          rows.front()->view.problem != row.view.problem)) {
      add_recordings(std::exchange(rows, {}), recordings);
    }
    rows.push_back(&row);
  }
  if (!rows.empty()) add_recordings(std::move(rows), recordings);
  std::ranges::sort(recordings, {}, recording_key);
  return recordings;
}

// If this build's default is another variant by now, the recorded default is removed, because
// nobody would compare with it.
void forget_stale_default(const Operator& op, TunedTableRow& row) {
  TunedRecord& tuned = row.view.tuned;
  if (!has_default(tuned) || offers(op, row.view.problem, tuned.default_variant)) return;
  tuned.default_variant.clear();
  tuned.default_median_ns = 0;
}

}  // namespace

std::vector<TunedTable> make_tuned_tables(const std::vector<TunedTableRow>& rows) {
  std::vector<TunedTable> tables;
  for (const TunedTableRow& row : rows) {
    auto same = std::ranges::find_if(tables, [&](const TunedTable& table) {
      return table.op == row.view.op && is_same_gpu(table.gpu, row.view.gpu) &&
             table.environment == row.environment;
    });
    if (same == tables.end()) {
      tables.push_back({row.view.op, row.view.gpu, row.environment, {}});
      same = tables.end() - 1;
    }
    const auto known = std::ranges::find_if(same->picks, [&](const TunedTableRow& pick) {
      return pick.view.problem == row.view.problem &&
             pick.view.tuned.method == row.view.tuned.method;
    });
    if (known == same->picks.end()) {
      same->picks.push_back(row);
    } else if (known->measured_at < row.measured_at) {
      *known = row;
    }
  }
  std::ranges::sort(tables, {}, table_key);
  for (TunedTable& table : tables) std::ranges::sort(table.picks, {}, pick_key);
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
  for (const OutcomeView& view : views) {
    results.failed.add(view.gpu, view.op, view.variant, view.outcome);
  }
  results.tables = make_tuned_tables(with_origins(std::move(tuned), origins));
  for (OutcomeView& view : views) {
    const bool other_method = !selection.method.empty() && view.measurement &&
                              view.measurement->method != selection.method;
    if (other_method || !selection.wants(view.op, view.gpu, view.problem)) continue;
    const std::int64_t sweep = view.sweep;
    results.outcomes.push_back({std::move(view), origins[sweep]});
  }
  std::ranges::sort(results.outcomes, {}, outcome_key);
  results.recordings = make_recordings(results.outcomes);
  return results;
}

std::vector<std::string> RemovedRows::sentences() const {
  std::vector<std::string> all = tuned.sentences();
  if (recorded > 0) {
    all.push_back(
        fmt::format("{} recorded variant{} that the operators do not offer any more {} left out",
                    recorded, recorded == 1 ? "" : "s", recorded == 1 ? "is" : "are"));
  }
  return all;
}

RemovedRows remove_unusable(ExchangedResults& results, Catalog& catalog) {
  RemovedRows removed;
  for (TunedTable& table : results.tables) {
    std::erase_if(table.picks, [&](const TunedTableRow& row) {
      return removed.tuned.leaves_out(row.view, catalog, results.failed);
    });
    const Result<const Operator*> op = catalog.find_operator(table.op);
    if (!op.ok()) continue;
    for (TunedTableRow& row : table.picks) forget_stale_default(**op, row);
  }
  for (VariantRecording& recording : results.recordings) {
    const Result<const Operator*> op = catalog.find_operator(recording.op);
    if (!op.ok()) continue;
    removed.recorded += std::erase_if(recording.variants, [&](const RecordedVariant& row) {
      return !offers(**op, recording.problem, row.variant.text());
    });
  }
  std::erase_if(results.tables, [](const TunedTable& table) { return table.picks.empty(); });
  std::erase_if(results.recordings,
                [](const VariantRecording& recording) { return recording.variants.empty(); });
  return removed;
}

}  // namespace mgtune
