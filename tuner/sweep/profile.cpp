#include "sweep/profile.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "device/device_lock.h"
#include "launch/loaded_variant.h"
#include "selection/variant_selection.h"
#include "space/space.h"
#include "sweep/sweep_shared.h"

namespace mgtune {
namespace {

Result<ProfiledVariant> named_variant(const Problem& problem, const DeviceInfo& device,
                                      const std::string& name) {
  MGTUNE_ASSIGN(const Variant variant, parse_variant(*problem.op, name));
  if (Space(problem, device.limits).serves(variant)) return ProfiledVariant{variant, "named"};
  return invalid_argument("'" + name + "' does not serve " + problem.op->full_name() + " " +
                          problem.text() + " on " + device.name +
                          ": a constraint of its design forbids it");
}

// The variant of the problem's pick on this GPU, if the store has a pick that is still valid.
std::optional<Variant> picked_variant(const Problem& problem, const DeviceInfo& device,
                                      const std::vector<TunedView>& rows) {
  const std::vector<TunedEntry> tuned = decode_tuned(*problem.op, rows);
  const std::vector<SelectedVariant> selected = select_variants(problem, device, tuned);
  if (selected.empty() || selected.front().step != SelectionStep::exact) return std::nullopt;
  return selected.front().variant;
}

std::optional<double> value_of(const VariantCounters& counters, std::string_view name) {
  for (const CounterRecord& counter : counters.values) {
    if (counter.name == name) return counter.value;
  }
  return std::nullopt;
}

}  // namespace

std::vector<DerivedFigure> derived_figures(const VariantCounters& counters, double cost_bytes) {
  const std::optional<double> read = value_of(counters, "dram_read_bytes");
  const std::optional<double> written = value_of(counters, "dram_write_bytes");
  std::vector<DerivedFigure> figures;
  if (!read.has_value() || !written.has_value()) return figures;
  const double bytes = *read + *written;
  if (cost_bytes > 0) {
    figures.push_back({"dram_of_cost_percent", 100 * bytes / cost_bytes, "%",
                       "device memory traffic, relative to the bytes that the operator must move"});
  }
  const std::optional<double> elapsed_ns = value_of(counters, "elapsed_ns");
  if (elapsed_ns.has_value() && *elapsed_ns > 0) {
    figures.push_back(
        {"dram_gbps", bytes / *elapsed_ns, "GB/s",
         "device memory traffic per elapsed_ns, which includes gaps between launches"});
  }
  return figures;
}

Result<ProfiledVariant> choose_variant(const Problem& problem, const DeviceInfo& device,
                                       const std::string& named, bool only_pick, Store& store) {
  if (!named.empty()) return named_variant(problem, device, named);
  const std::string name = problem.op->full_name() + " " + problem.text();
  MGTUNE_ASSIGN(const std::vector<TunedView> rows, store.tuned(problem.op->full_name()));
  const std::optional<Variant> pick = picked_variant(problem, device, rows);
  if (pick.has_value()) return ProfiledVariant{*pick, "pick"};
  if (only_pick) {
    return not_found(store.path() + " has no pick for " + name + " on " + device.name +
                     "; mgtune sweep finds one");
  }
  const std::vector<SelectedVariant> ladder = select_variants(problem, device, {});
  if (!ladder.empty()) return ProfiledVariant{ladder.front().variant, "default"};
  return unsupported("no variant serves " + name + " on " + device.name);
}

Result<Profile> run_profile(const SweepOptions& options, int tier, const DeviceInfo& device,
                            const Problem& problem, const Variant& variant, Store& store) {
  if (device.kind == DeviceKind::cpu) {
    return environment_error("the cpu device has no hardware counters: profile needs a GPU");
  }
  const Operator& op = *problem.op;
  Profile profile;
  profile.variant = variant_text(op, variant);
  MGTUNE_ASSIGN(const std::int64_t bytes, op.bytes.evaluate(problem.slots));
  profile.cost_bytes = static_cast<double>(bytes);
  MGTUNE_ASSIGN(const DeviceLock lock, DeviceLock::acquire(options.lock_directory, device.id));
  MGTUNE_ASSIGN(const std::chrono::milliseconds deadline, measure_deadline(device.kind, problem));
  WorkerProcess process({options.program, "worker", "count", device.id}, deadline);
  const NamedProblem named{options.kernel, op.full_name(), problem.text()};
  MGTUNE_ASSIGN(WorkReply reply, process.run({1, CountRequest{{named, profile.variant}, tier}}));
  profile.outcome = reply.outcome;
  profile.message = reply.message;
  if (reply.outcome != Outcome::ok) return profile;
  profile.counters = std::move(*reply.counters);

  MGTUNE_ASSIGN(const std::int64_t flops, op.flops.evaluate(problem.slots));
  ResultKey key;
  MGTUNE_ASSIGN(key.gpu, store.gpu_id(gpu_record(device)));
  MGTUNE_ASSIGN(key.problem, store.problem_id(op.full_name(), problem.text(), profile.cost_bytes,
                                              static_cast<double>(flops)));
  key.build_sha256 = reply.build.has_value() ? reply.build->sha256 : "";
  key.launch_hash = launch_hash(op, variant);
  SweepOptions sweep = options;
  sweep.strategy = "profile";
  SweepJournal journal(store, sweep, device, key.gpu);
  MGTUNE_ASSIGN(profile.sweep, journal.begin());
  MGTUNE_TRY(store.record_counters(profile.sweep, key, profile.variant, profile.counters.values));
  MGTUNE_TRY(journal.finish());
  return profile;
}

}  // namespace mgtune
