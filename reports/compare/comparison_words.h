// The sentences and words that the text and the Markdown of a comparison share. They may contain
// names from files, which the caller makes safe to show. Pure. Private to this folder.

#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"

namespace mgtune {

std::string change_text(double change);  // "+3.0 %"
// "rmsnorm.forward on NVIDIA H200, rotating"; "Benchmarks, cpu time".
std::string place_text(const RowName& name);
// "row VEC=8", or "row VEC=8 -> row VEC=4" if B picked another variant.
std::string variants_text(const ComparedRow& row);

// "12 picks: 1 SLOWER, 0 FASTER, 11 SAME, 0 UNSURE, 0 BROKEN; 2 only in A", and the worst row.
std::vector<std::string> summary_sentences(const Comparison& comparison);
// What was not compared, and what to keep in mind about the verdicts.
std::vector<std::string> cautions(const Comparison& comparison);

}  // namespace mgtune
