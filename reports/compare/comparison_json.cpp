#include "compare/comparison.h"
#include "json/json.h"

namespace mgtune {
namespace {

Json name_json(const RowName& name) {
  return {{"gpu", name.device},      {"emulation", name.emulation}, {"operator", name.op},
          {"problem", name.problem}, {"variant", name.variant},     {"method", name.method}};
}

Json time_json(const TimeEstimate& time) {
  const bool known = time.low_ns > 0 || time.high_ns > 0;
  return {{"median_ns", time.median_ns},
          {"median_low_ns", known ? Json(time.low_ns) : Json()},
          {"median_high_ns", known ? Json(time.high_ns) : Json()},
          {"noise_floor", time.noise_floor},
          {"cut_short", time.cut_short}};
}

Json row_json(const ComparedRow& row) {
  const Difference& d = row.difference;
  Json json = name_json(row.a.name);
  json["variant_b"] = row.b.name.variant;
  json["is_pick"] = row.is_pick();
  json["verdict"] = to_string(d.verdict);
  json["change"] = d.change;
  json["change_low"] = d.low;
  json["change_high"] = d.high;
  json["smallest_that_counts"] = d.smallest_that_counts;
  json["a"] = time_json(row.a.time);
  json["b"] = time_json(row.b.time);
  return json;
}

Json lone_json(const std::vector<LoneRow>& rows) {
  return Json::array(rows, [](const LoneRow& row) {
    Json json = name_json(row.name);
    json["is_pick"] = row.is_pick;
    json["in_the_other"] = row.other.empty() ? Json() : Json(row.other);
    return json;
  });
}

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  const auto mismatch_json = [](const Mismatch& mismatch) -> Json {
    return {{"reason", mismatch.reason}, {"rows", mismatch.rows}};
  };
  const Json json = {{"format", 1},
                     {"a", comparison.file_a},
                     {"b", comparison.file_b},
                     {"picks_only", !comparison.all_variants},
                     {"regression", comparison.has_regression()},
                     {"broken", comparison.broken()},
                     {"slower", comparison.count(Verdict::slower)},
                     {"faster", comparison.count(Verdict::faster)},
                     {"unsure", comparison.count(Verdict::unsure)},
                     {"same", comparison.count(Verdict::same)},
                     {"widening", comparison.widening},
                     {"notes", comparison.notes},
                     {"rows", Json::array(comparison.rows, row_json)},
                     {"only_in_a", lone_json(comparison.only_in_a)},
                     {"only_in_b", lone_json(comparison.only_in_b)},
                     {"not_compared", Json::array(comparison.mismatches, mismatch_json)}};
  return json.document_text();
}

}  // namespace mgtune
