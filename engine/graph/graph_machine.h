// GraphMachine: the way `graph` as a Machine: a step is one launch of a CUDA graph. The graph has
// the launches of the way `steps`, and kernels that allow it begin while the one before them ends.
// Tokens and positions lie in the memory of the GPU, so one graph serves all positions of its
// program.
//
// It needs a GPU. One thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "core/status.h"
#include "device/cuda/cuda_driver.h"
#include "program/machine.h"
#include "steps/steps_machine.h"

namespace mgtune::engine {

class GraphMachine final : public Machine {
 public:
  // Like StepsMachine::create(). unsupported on the device cpu, and if a program has an instruction
  // that no kernel does.
  static Result<std::unique_ptr<GraphMachine>> create(std::span<const Program> programs,
                                                      std::vector<std::byte> weights,
                                                      const StepsOptions& options);
  ~GraphMachine() override;
  GraphMachine(const GraphMachine&) = delete;
  GraphMachine& operator=(const GraphMachine&) = delete;

  Status step(const Program& program) override;

  // The host does nothing between the steps, and does not check tokens and positions.
  Status steps(const Program& program, std::uint32_t count) override;

  // The time of an instruction is the time that it adds to a graph of the instructions before it.
  // The kernels of a graph overlap, so this can be less than the time of the kernel alone. The time
  // of the first instruction includes the start of the graph.
  Result<std::vector<double>> timed_step(const Program& program) override;

  Status read(const Buffer& buffer, std::span<std::byte> to) override;
  Status write(const Buffer& buffer, std::span<const std::byte> from) override;

  // Also captures all programs again.
  Status choose_variant(const KernelCall& call, const std::string& variant) override;

 private:
  struct DestroyGraph {
    const CudaDriver* driver;
    void operator()(CUgraphExec graph) const { driver->cuGraphExecDestroy(graph); }
  };
  using Graph = std::unique_ptr<std::remove_pointer_t<CUgraphExec>, DestroyGraph>;
  struct ProgramGraph {
    Program program;
    Graph replay;
  };

  GraphMachine(const CudaDriver& driver, std::unique_ptr<StepsMachine> steps)
      : driver_(driver), steps_(std::move(steps)) {}
  // The first `count` launches of a program as a graph.
  Result<Graph> capture(const Program& program, std::size_t count);
  // Seconds per replay: the mean of a few replays in a row, after one that is not timed.
  Result<double> time_of(const Graph& graph);

  struct Kept {
    Buffer buffer;
    std::vector<std::byte> bytes;
  };
  // Reads the buffers of tokens, positions and lengths.
  Result<std::vector<Kept>> kept_state(const Program& program);
  // Like time_of(), but the host restores this state before each replay, and waits for its end.
  Result<double> time_alone(const Graph& graph, std::span<const Kept> state);

  const CudaDriver& driver_;
  std::unique_ptr<StepsMachine> steps_;
  CUstream stream_ = nullptr;
  std::vector<ProgramGraph> graphs_;
};

// Makes the value of SessionOptions::machine for the way `graph`.
MachineFactory graph_factory(StepsOptions options);

}  // namespace mgtune::engine
