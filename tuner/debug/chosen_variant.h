// Finds the variant that the arguments of `mgtune run` mean. It compiles and launches nothing. One
// thread.

#pragma once

#include <string>

#include "core/status.h"
#include "device/device.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

struct ChosenVariant {
  Variant variant;
  std::string source;  // "named", "what a program would run", "the first default"
};

// The variant that a user's words name: "row VEC=8 THREADS=256", "row VEC=8,THREADS=256", or "row
// VEC=8". A parameter that is left out has its value from the design's first default for the
// problem. invalid_argument if a word names nothing. The words may name a variant that the problem
// does not admit: launching it is one way to learn why it is not admitted.
Result<Variant> named_variant(const Problem& problem, const DeviceLimits& device,
                              const std::string& words);

// The variant that `named` means. If it is "": the variant that a program would run for the problem
// (`database` as for explain()), or the first default if all have failed here or the device is not
// in this machine. unsupported if no default serves the problem on the device.
Result<ChosenVariant> choose_variant_to_run(const Problem& problem, const DeviceInfo& device,
                                            const std::string& named, const std::string& kernel,
                                            const std::string& database, Catalog& catalog);

// A device to compile for: one of this machine, or a product of configs/gpus, which need not be
// here. Fails as select_devices() does; invalid_argument if the word means several.
Result<DeviceInfo> device_to_compile_for(const std::string& word);

}  // namespace mgtune
