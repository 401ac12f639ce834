// StepsMachine: the way `steps` as a Machine. Each instruction is one launch of a tuned kernel, and
// the next one begins when it has ended. It runs on a GPU, or on the device "cpu".
//
// An instruction that no kernel does (steps/kernel_call.h says which) is executed by the reference,
// with its operands copied to the host and back.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "program/machine.h"
#include "reference/machine_memory.h"
#include "steps/buffer_difference.h"
#include "steps/device_memory.h"
#include "steps/plan_set.h"

namespace mgtune::engine {

struct StepsOptions {
  std::string device = "auto";  // as in mgr_open_options_t
  std::string database = {};    // likewise; "" stands for null
};

class StepsMachine final : public Machine {
 public:
  // The programs must be valid, and share weights and state. Builds all kernels that they need.
  // environment if there is no such device or not enough memory.
  static Result<std::unique_ptr<StepsMachine>> create(std::span<const Program> programs,
                                                      std::vector<std::byte> weights,
                                                      const StepsOptions& options);

  Status step(const Program& program) override;
  Result<std::vector<double>> timed_step(const Program& program) override;
  Status read(const Buffer& buffer, std::span<std::byte> to) override;
  Status write(const Buffer& buffer, std::span<const std::byte> from) override;
  Status choose_variant(const KernelCall& call, const std::string& variant) override;

  // Runs a step. For each of these instructions, it compares the result with what the reference
  // writes from the same inputs. `instructions` are indices in the program; an empty list means
  // all. Instructions that the host does are not compared. Returns an entry per buffer that a
  // compared instruction writes, in the order in which they ran.
  Result<std::vector<BufferDifference>> step_compared(const Program& program,
                                                      std::span<const std::uint32_t> instructions);

  // Queues the first `count` launches of a program on a stream, and returns without waiting for
  // them on a GPU. Tokens and positions are not checked. unsupported if the host has to execute an
  // instruction of the program.
  Status launch(const Program& program, void* stream, std::size_t count);

  // The instructions of the program's launches, in the order in which they run.
  Result<std::vector<std::uint32_t>> launch_order(const Program& program) const;

  // The part of step() that needs the host. invalid_argument if a token or a position is out of its
  // range.
  Status check_inputs(const Program& program) const;

  // How many instructions of the programs kernels do, and how many the host does.
  std::size_t kernel_count() const { return kernel_count_; }
  std::size_t host_count() const { return host_count_; }

 private:
  struct CloseContext {
    void operator()(mgr_context_t* context) const { mgr_close(context); }
  };
  // A launch without a plan is executed on the host.
  struct Launch {
    std::uint32_t instruction = 0;
    ShapePlan plan;
    std::vector<std::int64_t> dims;
    std::vector<void*> tensors;
    std::vector<double> scalars;
  };
  struct PreparedProgram {
    Program program;
    std::vector<Launch> launches;  // in the order in which they run
  };

  StepsMachine(std::vector<std::byte> weights, mgr_context_t* context)
      : weights_(std::move(weights)), context_(context), plans_(context) {}

  Status plan_all(std::span<const Program> programs);
  Status prepare(const Program& program);  // its kernels must have been planned
  Result<const PreparedProgram*> find(const Program& program) const;
  Status run(const Program& program, const Launch& launch, void* stream);
  Status run_on_host(const Program& program, const Instruction& instruction);
  Status compare(const Program& program, const Launch& launch,
                 std::vector<BufferDifference>& differences);
  // Copies the operands of the instruction to host_, except weights.
  Status fetch_operands(const Program& program, const Instruction& instruction);

  std::vector<std::byte> weights_;
  std::unique_ptr<mgr_context_t, CloseContext> context_;
  PlanSet plans_;
  std::unique_ptr<DeviceMemory> memory_;
  MachineMemory host_;  // for what the host executes
  std::vector<PreparedProgram> programs_;
  std::size_t kernel_count_ = 0;
  std::size_t host_count_ = 0;
};

// Makes the value of SessionOptions::machine for the way `steps`.
MachineFactory steps_factory(StepsOptions options);

}  // namespace mgtune::engine
