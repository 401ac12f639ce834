// Checks a family before it is swept: its operator files, the names of its kernels, one variant per
// design for each architecture, the same variants on small problems, and the sizes of its spaces.
// Takes seconds for a small family. Nothing is stored.
//
// Kernels are compiled and run in separate processes (trial.h), as many at a time as the machine
// has processors.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family_check/space_summary.h"

namespace mgtune {

struct FamilyCheckRequest {
  std::string kernel;               // what Catalog::find() takes
  std::vector<DeviceInfo> targets;  // to compile for: GPUs, which need not exist
  std::vector<DeviceInfo> devices;  // to run on
  std::string program;              // mgtune's path, to start workers
};

// One mistake in the family. There is one finding for each cause: if several problems or
// architectures fail for the same reason, the mistake is listed once.
struct FamilyFinding {
  std::string op;       // "scale.vector"
  std::string design;   // "" if all designs are concerned
  std::string problem;  // "" if it does not depend on a problem
  std::string on;       // "sm_80", "cpu"; "" if nothing was compiled or run
  std::string text;     // with file and line
};

struct CheckedBuild {
  std::string target;   // "sm_80"
  std::string variant;  // variant_text()
  bool ok = false;
  int registers = -1, spill_bytes = -1, static_shared_bytes = -1;
};

struct CheckedRun {
  std::string device;  // "cpu"
  std::string problem, variant;
  bool ok = false;
};

struct CheckedDesign {
  std::string op, design;
  SpaceSummary space;
  std::vector<CheckedBuild> builds;
  std::vector<CheckedRun> runs;
};

struct FamilyReport {
  std::size_t operators = 0;
  std::vector<CheckedDesign> designs;  // of operators whose files are valid
  std::vector<FamilyFinding> findings;
  std::vector<std::string> warnings;  // what is unusual, but may be intended
  std::vector<std::string> notes;     // what could not be checked here, and why
};

// A Status if there is no such family, or if the machine fails.
Result<FamilyReport> check_family(const FamilyCheckRequest& request);

}  // namespace mgtune
