// The arguments that the commands share: which model, in which precision, run in which way.

#pragma once

#include <string>

#include "command/command.h"
#include "core/status.h"
#include "generate/session.h"
#include "lower/lower.h"

namespace mgtune::engine {

struct ModelArguments {
  std::string model;
  std::string dtype;  // of weights, activations and caches
  std::string way = "reference";
  std::string device = "auto";

  void declare(ArgumentList& arguments, const std::string& default_dtype);
  Precision precision() const;  // the residual stream is f32
  Result<MachineFactory> machine() const;
};

}  // namespace mgtune::engine
