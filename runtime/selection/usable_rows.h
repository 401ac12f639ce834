// Decides whether a tuned row can be used with this build of mgtune. Everything that reads tuned
// rows asks use_of(): programs, explain, show, the report, export and pack. So they agree on the
// rows that count, and LeftOutRows says for all of them which rows do not count and why. One thread
// at a time per object and per catalog.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "database/pick.h"
#include "family/catalog.h"
#include "family/operator.h"
#include "family/problem.h"
#include "family/variant.h"
#include "selection/failed_variants.h"

namespace mgtune {

enum class RowUse : std::uint8_t {
  usable,
  unknown_operator,  // of a family that the catalog does not know, so nobody can judge the row
  not_offered,       // the operators do not offer the problem, the design, a parameter or a value
  not_admissible,    // a requirement or a constraint is false for the problem on the row's GPU
  failed,            // the variant failed on the row's GPU, on this or another problem
};

// Whether the operator has the problem and the variant.
bool offers(const Operator& op, const std::string& problem, const std::string& variant);

RowUse use_of(const TunedView& row, Catalog& catalog, const FailedVariants& failed);
// The same for a row that was decoded: usable, not_admissible or failed.
RowUse use_of(const Problem& problem, const Variant& variant, const GpuRecord& gpu,
              const FailedVariants& failed);

// The tuned rows that a reader left out, and why.
class LeftOutRows {
 public:
  // Returns whether the reader must leave the row out; it is then remembered. An operator that the
  // catalog does not know is no reason: another mgtune, or a program with the family, can use it.
  bool leaves_out(const TunedView& row, Catalog& catalog, const FailedVariants& failed);

  std::size_t count() const;
  // One sentence per reason, without a full stop: "2 tuned problems that the operators do not offer
  // any more are left out: rmsnorm.forward rows=64 ... with stream THREADS=256 STAGES=1, ...". It
  // names the first few rows, and has no control characters.
  std::vector<std::string> sentences() const;

 private:
  std::map<RowUse, std::vector<std::string>> rows_;
};

}  // namespace mgtune
