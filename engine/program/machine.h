// Machine: runs the programs of a model in one of the ways (ways/ways.h). It owns the memory of the
// programs. One thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "program/program.h"

namespace mgtune::engine {

struct KernelCall;  // steps/kernel_call.h

class Machine {
 public:
  virtual ~Machine() = default;

  // Runs all instructions of a program. The machine must have been made for this program.
  // invalid_argument if a token or a position is out of its range.
  virtual Status step(const Program& program) = 0;

  // Runs `count` steps. Each step after the first takes the tokens that the step before it has
  // chosen. All positions must be below program.positions.
  virtual Status steps(const Program& program, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      Status status = step(program);
      if (!status.ok()) return status;
    }
    return {};
  }

  // Runs one step. Returns the time of each instruction in seconds, in the order of the program.
  // unsupported if this way cannot time single instructions.
  virtual Result<std::vector<double>> timed_step(const Program& /*program*/) {
    return unsupported("this way cannot time single instructions");
  }

  // Copies a whole buffer out of the machine's memory or into it. The sizes must be equal.
  virtual Status read(const Buffer& buffer, std::span<std::byte> to) = 0;
  virtual Status write(const Buffer& buffer, std::span<const std::byte> from) = 0;

  // From now on, the launches of this call in all programs run this variant of its operator. ""
  // means the variant that the library chooses. unsupported if this way has no kernels. Otherwise
  // it fails as mgr_plan() does; after a failure, choose again before the next step.
  virtual Status choose_variant(const KernelCall& /*call*/, const std::string& /*variant*/) {
    return unsupported("this way runs no tuned kernels");
  }
};

// Makes a machine for these programs from their weights. The programs must be valid, and must share
// weights and state.
using MachineFactory = std::function<Result<std::unique_ptr<Machine>>(std::span<const Program>,
                                                                      std::vector<std::byte>)>;

}  // namespace mgtune::engine
