// The computed parts: importance, convergence, time against size.

#include "document/document_parts.h"

namespace mgtune {
namespace {

Json parameter_json(const ParameterImportance& parameter) {
  Json effects = Json::array();
  for (const ValueEffect& effect : parameter.effects) {
    effects.push_back(effect_json(effect.value, effect, number));
  }
  return {{"parameter", parameter.parameter},
          {"main", number(parameter.main)},
          {"total", number(parameter.total)},
          {"effects", std::move(effects)}};
}

Json design_json(const DesignImportance& design) {
  Json parameters = Json::array(), interactions = Json::array();
  for (const ParameterImportance& parameter : design.parameters) {
    parameters.push_back(parameter_json(parameter));
  }
  for (const Interaction& pair : design.interactions) {
    interactions.push_back({{"a", pair.a}, {"b", pair.b}, {"share", number(pair.share)}});
  }
  return {{"design", design.design},
          {"variants", design.variants},
          {"spread", number(design.spread)},
          {"parameters", std::move(parameters)},
          {"interactions", std::move(interactions)}};
}

Json default_time(const DocumentInput& input, const BestSoFar& curve) {
  for (const ReportPick& pick : input.model.picks) {
    const TunedRecord& tuned = pick.view.tuned;
    const bool same = pick.problem == curve.problem && tuned.method == curve.method;
    if (same && tuned.default_median_ns > 0) return number(tuned.default_median_ns);
  }
  return nullptr;
}

Json point_json(const DocumentInput& input, const SizePoint& point) {
  const ReportPick& pick = input.model.picks[point.pick];
  const TunedRecord& tuned = pick.view.tuned;
  const auto known = [](double value) { return value > 0 ? number(value) : Json(); };
  return {{"problem", pick.problem},
          {"pick", point.pick},
          {"size", number(point.size)},
          {"time_ns", number(tuned.median_ns)},
          {"low_ns", number(pick.low_ns)},
          {"high_ns", number(pick.high_ns)},
          {"default_ns", known(tuned.default_median_ns)},
          {"copy_ns", known(pick.view.copy_ns)},
          {"variant", tuned.variant}};
}

}  // namespace

Json importance_part(const DocumentInput& input) {
  Json list = Json::array();
  for (const ProblemImportance& entry : input.analysis.importance) {
    Json designs = Json::array();
    for (const DesignImportance& design : entry.importance.designs) {
      designs.push_back(design_json(design));
    }
    list.push_back({{"problem", entry.problem},
                    {"method", input.index.method(entry.method)},
                    {"variants", entry.importance.variants},
                    {"design_share", number(entry.importance.design_share)},
                    {"designs", std::move(designs)},
                    {"note", entry.note}});
  }
  return list;
}

Json best_so_far_part(const DocumentInput& input) {
  Json list = Json::array();
  for (const BestSoFar& curve : input.analysis.best_so_far) {
    Json steps = Json::array();
    for (const BestStep& step : curve.steps) {
      steps.push_back(step_json(step, number));
      steps.back()["row"] = step.row;
    }
    list.push_back({{"problem", curve.problem},
                    {"method", input.index.method(curve.method)},
                    {"evaluations", curve.evaluations},
                    {"seconds", number(curve.seconds)},
                    {"order_known", curve.order_known},
                    {"steps", std::move(steps)},
                    {"default_ns", default_time(input, curve)}});
  }
  return list;
}

Json sizes_part(const DocumentInput& input) {
  Json list = Json::array();
  for (const SizeSeries& series : input.analysis.sizes) {
    Json fixed = Json::object(), points = Json::array();
    for (const auto& [name, value] : series.fixed) fixed[name] = typed(value);
    for (const SizePoint& point : series.points) points.push_back(point_json(input, point));
    list.push_back({{"gpu", input.index.gpu(series.gpu)},
                    {"operator", series.op},
                    {"method", input.index.method(series.method)},
                    {"dim", series.dim},
                    {"fixed", std::move(fixed)},
                    {"points", std::move(points)},
                    {"boundaries", boundaries_json(series, number)}});
  }
  return list;
}

}  // namespace mgtune
