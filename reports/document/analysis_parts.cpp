// The computed parts: importance, convergence, time against size.

#include "core/variant_words.h"
#include "document/document_parts.h"

namespace mgtune {
namespace {

Json parameter_json(const ParameterImportance& parameter) {
  const auto one = [](const ValueEffect& effect) {
    return effect_json(effect.value, effect, number);
  };
  return {{"parameter", parameter.parameter},
          {"main", number(parameter.main)},
          {"total", number(parameter.total)},
          {"effects", Json::array(parameter.effects, one)}};
}

Json design_json(const DesignImportance& design) {
  const auto interaction = [](const Interaction& pair) -> Json {
    return {{"a", pair.a}, {"b", pair.b}, {"share", number(pair.share)}};
  };
  return {{"design", design.design},
          {"variants", design.variants},
          {"spread", number(design.spread)},
          {"parameters", Json::array(design.parameters, parameter_json)},
          {"interactions", Json::array(design.interactions, interaction)}};
}

Json point_json(const DocumentInput& input, const SizePoint& point) {
  const ReportPick& pick = input.model.picks[point.pick];
  const TunedRecord& tuned = pick.view.tuned;
  return {{"problem", pick.problem},
          {"pick", point.pick},
          {"size", number(point.size)},
          {"time_ns", number(tuned.median_ns)},
          {"low_ns", number(pick.low_ns)},
          {"high_ns", number(pick.high_ns)},
          {"default_ns", known_time(tuned.default_median_ns)},
          {"copy_ns", known_time(pick.view.copy_ns)},
          {"variant", tuned.variant}};
}

}  // namespace

Json importance_part(const DocumentInput& input) {
  return Json::array(input.analysis.importance, [&](const ProblemImportance& entry) -> Json {
    return {{"problem", entry.problem},
            {"method", input.index.methods.index_of(entry.method)},
            {"variants", entry.importance.variants},
            {"design_share", number(entry.importance.design_share)},
            {"designs", Json::array(entry.importance.designs, design_json)},
            {"note", entry.note}};
  });
}

Json best_so_far_part(const DocumentInput& input) {
  const auto one_step = [](const BestStep& step) {
    Json json = step_json(step, number);
    json["row"] = step.row;
    return json;
  };
  return Json::array(input.analysis.best_so_far, [&](const BestSoFar& curve) -> Json {
    const ReportPick* const pick = find_pick(input.model, curve.problem, curve.method);
    return {
        {"problem", curve.problem},
        {"method", input.index.methods.index_of(curve.method)},
        {"evaluations", curve.evaluations},
        {"seconds", number(curve.seconds)},
        {"order_known", curve.order_known},
        {"steps", Json::array(curve.steps, one_step)},
        {"default_ns", pick != nullptr ? known_time(pick->view.tuned.default_median_ns) : Json()}};
  });
}

Json sizes_part(const DocumentInput& input) {
  const auto one_point = [&](const SizePoint& point) { return point_json(input, point); };
  return Json::array(input.analysis.sizes, [&](const SizeSeries& series) -> Json {
    Json fixed = Json::object();
    for (const auto& [name, value] : series.fixed) fixed[name] = Json::of_word(value);
    return {{"gpu", input.index.gpu(series.gpu)},
            {"operator", series.op},
            {"method", input.index.methods.index_of(series.method)},
            {"dim", series.dim},
            {"fixed", std::move(fixed)},
            {"points", Json::array(series.points, one_point)},
            {"boundaries", boundaries_json(series, number)}};
  });
}

}  // namespace mgtune
