// ReferenceMachine: the way `reference` as a Machine. It keeps the weights that it is given.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "program/machine.h"
#include "reference/machine_memory.h"

namespace mgtune::engine {

class ReferenceMachine final : public Machine {
 public:
  // The programs must be valid, and share weights and state. environment if there is not enough
  // memory.
  static Result<std::unique_ptr<Machine>> create(std::span<const Program> programs,
                                                 std::vector<std::byte> weights);

  Status step(const Program& program) override;
  Result<std::vector<double>> timed_step(const Program& program) override;
  Status read(const Buffer& buffer, std::span<std::byte> to) override;
  Status write(const Buffer& buffer, std::span<const std::byte> from) override;

 private:
  explicit ReferenceMachine(std::vector<std::byte> weights) : weights_(std::move(weights)) {}

  std::vector<std::byte> weights_;
  MachineMemory memory_;
};

}  // namespace mgtune::engine
