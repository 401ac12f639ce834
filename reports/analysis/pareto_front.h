// The Pareto front of a final: the finalists that no other one beats in both time and energy. Pure.

#pragma once

#include <vector>

#include "model/report_model.h"

namespace mgtune {

// Whether energies were measured in the final.
bool has_energy(const FinalRecord& final);

// For each finalist: whether no other one is at least as good in both and better in one. All false
// if no energies were measured. Values are compared as they are: the errors do not count.
std::vector<bool> pareto_front(const FinalRecord& final);

}  // namespace mgtune
