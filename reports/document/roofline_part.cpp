// Measured ceilings, and the points under them.

#include <algorithm>
#include <compare>
#include <set>

#include "document/document_parts.h"

namespace mgtune {
namespace {

bool moves_bytes(const CeilingRecord& ceiling) {
  return ceiling.kind == "copy" || ceiling.kind == "read";
}

std::string label(const CeilingRecord& ceiling) {
  return moves_bytes(ceiling) ? ceiling.kind : ceiling.kind + " peak";
}

// A kind of ceiling on one GPU, by one method.
struct CeilingKind {
  std::int64_t gpu = 0;  // row id
  std::string method, kind;
  auto operator<=>(const CeilingKind&) const = default;  // NOLINT(modernize-use-nullptr)
};

std::map<CeilingKind, std::vector<const CeilingRecord*>> by_kind(const ReportModel& model) {
  std::map<CeilingKind, std::vector<const CeilingRecord*>> kinds;
  for (const CeilingView& view : model.ceilings) {
    kinds[{view.gpu_id, view.ceiling.method, view.ceiling.kind}].push_back(&view.ceiling);
  }
  for (auto& [kind, ceilings] : kinds) std::ranges::sort(ceilings, {}, &CeilingRecord::bytes);
  return kinds;
}

std::int64_t gpu_place(const DocumentInput& input, std::int64_t gpu_id) {
  const auto problem = std::ranges::find(input.model.problems, gpu_id, &ReportProblem::gpu_id);
  return problem == input.model.problems.end() ? -1 : input.index.gpu(problem->gpu);
}

void add_ceilings(const DocumentInput& input, Json& ceilings, Json& by_size) {
  for (const auto& [kind, found] : by_kind(input.model)) {
    const std::int64_t gpu = gpu_place(input, kind.gpu);
    if (gpu < 0) continue;
    const CeilingRecord& highest = **std::ranges::max_element(found, {}, &CeilingRecord::rate);
    const Json place = {
        {"gpu", gpu}, {"method", input.index.methods.index_of(kind.method)}, {"kind", kind.kind}};
    Json ceiling = place;
    ceiling.update({{"label", label(highest)},
                    {"unit", moves_bytes(highest) ? "bytes/s" : "flop/s"},
                    {"rate", number(highest.rate)},
                    {"bytes", highest.bytes},
                    {"measured_at", highest.measured_at}});
    ceilings.push_back(std::move(ceiling));
    if (!moves_bytes(highest)) continue;
    Json curve = place;
    curve["bytes"] = Json::array(found, [](const auto* one) { return one->bytes; });
    curve["rate"] = Json::array(found, [](const auto* one) { return number(one->rate); });
    by_size.push_back(std::move(curve));
  }
}

// Operations per byte that device memory actually moved.
std::optional<double> measured_intensity(const ReportVariant& variant) {
  double bytes = 0;
  for (const CounterRecord& counter : variant.counters) {
    const bool moved = counter.name == "dram_read_bytes" || counter.name == "dram_write_bytes";
    if (moved) bytes += counter.value;
  }
  return bytes > 0 ? std::optional(variant.view.flops / bytes) : std::nullopt;
}

class Points {
 public:
  explicit Points(const DocumentInput& input) : input_(input) {}

  void add(std::size_t row, std::string_view role, double time_ns, const std::string& limit) {
    const ReportVariant& variant = input_.model.variants[row];
    const OutcomeView& view = variant.view;
    const bool has_place = time_ns > 0 && view.bytes > 0 && view.flops > 0 && !view.gpu.emulation;
    if (!has_place || !seen_.insert(row).second) return;
    points_.push_back({{"problem", variant.problem},
                       {"method", input_.index.methods.index_of(view.measurement->method)},
                       {"row", row},
                       {"role", role},
                       {"intensity", number(view.flops / view.bytes)},
                       {"flops_per_s", number(view.flops / time_ns * 1e9)},
                       {"bytes_per_s", number(view.bytes / time_ns * 1e9)},
                       {"measured_intensity", number(measured_intensity(variant))},
                       {"limit", limit}});
  }

  Json finish() && { return std::move(points_); }

 private:
  const DocumentInput& input_;
  std::set<std::size_t> seen_;
  Json points_ = Json::array();
};

Json points_json(const DocumentInput& input) {
  const ReportModel& model = input.model;
  Points points(input);
  for (const ReportPick& pick : model.picks) {
    const TunedRecord& tuned = pick.view.tuned;
    if (pick.row) points.add(*pick.row, "pick", tuned.median_ns, pick.roofline.limit);
    if (!pick.default_row) continue;
    points.add(*pick.default_row, "default", tuned.default_median_ns,
               model.variants[*pick.default_row].roofline.limit);
  }
  for (std::size_t row = 0; row < model.variants.size(); ++row) {
    const ReportVariant& variant = model.variants[row];
    if (variant.counters.empty()) continue;
    const double time_ns =
        variant.final ? variant.final->median_ns : median_ns(variant.view).value_or(0);
    points.add(row, "variant", time_ns, variant.roofline.limit);
  }
  return std::move(points).finish();
}

}  // namespace

Json roofline_part(const DocumentInput& input) {
  Json ceilings = Json::array(), by_size = Json::array();
  add_ceilings(input, ceilings, by_size);
  return {{"ceilings", std::move(ceilings)},
          {"bandwidth_by_size", std::move(by_size)},
          {"points", points_json(input)}};
}

}  // namespace mgtune
