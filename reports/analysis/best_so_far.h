// BestSoFar: how fast a sweep found its best variant. It has the order in which the variants of a
// problem were evaluated, when each was evaluated, and the fastest variant after each evaluation.
// Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/report_model.h"
#include "store/views.h"

namespace mgtune {

struct BestStep {
  std::int64_t evaluation = 0;    // the number of the evaluation within the problem, from 1
  std::optional<double> seconds;  // spent on the problem until then
  double best_ns = 0;
  std::size_t row = 0;  // index into the model's variants
};

// For one problem and one method. Failures count as evaluations, because they cost time.
struct BestSoFar {
  std::size_t problem = 0;  // index into the model's problems
  std::string method;
  std::int64_t evaluations = 0;
  std::optional<double> seconds;  // of all of them
  bool order_known = false;       // for an import the steps are empty
  std::vector<BestStep> steps;    // only those with a faster variant
};

// In the order of problems, then methods. A problem without a time has none.
std::vector<BestSoFar> best_so_far(const ReportModel& model);

// Fills in order and seconds of the model's variants, which already have `imported`. The seconds of
// a variant are the time since its sweep recorded its previous row (or since the sweep began),
// added up over its problem. So the time of each problem is right, even if a sweep switches between
// problems or was continued later. Imports have no order, and rows of older stores no seconds.
void add_evaluation_order(const std::vector<SweepView>& sweeps, ReportModel& model);

// "2026-11-21T09:00:00.123Z", with or without the fraction; nullopt for anything else.
std::optional<double> seconds_of_utc(const std::string& text);

}  // namespace mgtune
