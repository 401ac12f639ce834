// EngineProgram: the program mgengine, as far as a sweep of a model needs it. mgengine knows which
// kernels a model launches, and it times whole tokens. mgtune starts it as a process, because the
// engine depends on libmgruntime only. Copyable; one thread.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace mgtune {

// A model as `mgtune sweep --model` names it.
struct EngineModel {
  std::string model;  // a shipped name, a config.json or a folder
  std::string dtype = "bf16";
  std::string positions;  // "": mgengine's default
  std::uint64_t batch = 1;
  std::uint64_t capacity = 0;  // 0: mgengine's default
};

class EngineProgram {
 public:
  // Finds mgengine in the folder of the program `mgtune`. environment if it is not there.
  static Result<EngineProgram> beside(const std::string& mgtune);

  // Writes the kernels that a token of the model launches to `file`, as a recording
  // (plan/shapes.h). If mgengine fails, the result is a failure with mgengine's message.
  Status record_kernels(const EngineModel& model, const std::string& file) const;

  // Chooses the kernels by the time of whole tokens on the device (an id), from the results in the
  // database, and stores the picks there. mgengine prints on the descriptors of this process.
  // Returns its exit code. environment if it cannot be started.
  Result<int> tune(const EngineModel& model, const std::string& device,
                   const std::string& database) const;

 private:
  explicit EngineProgram(std::string path) : path_(std::move(path)) {}
  std::vector<std::string> words(const std::vector<std::string>& command,
                                 const EngineModel& model) const;

  std::string path_;
};

}  // namespace mgtune
