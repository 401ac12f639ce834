#include "graph/graph_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mgtune::engine {

Result<std::unique_ptr<GraphMachine>> GraphMachine::create(std::span<const Program> programs,
                                                           std::vector<std::byte> weights,
                                                           const StepsOptions& options) {
  const Result<CudaDriver>& driver = cuda_driver();
  if (options.device == "cpu" || !driver.ok()) {
    return unsupported(
        fmt::format("the way 'graph' needs a GPU{}; the way 'steps' runs on the device cpu",
                    driver.ok() ? "" : ": " + driver.status().message()));
  }
  MGTUNE_ASSIGN(auto steps, StepsMachine::create(programs, std::move(weights), options));
  std::unique_ptr<GraphMachine> machine(new GraphMachine(*driver, std::move(steps)));
  // A stream that waits for the default stream, where the host's copies are.
  MGTUNE_TRY(driver->status(driver->cuStreamCreate(&machine->stream_, CU_STREAM_DEFAULT),
                            "making the stream of a graph"));
  for (const Program& program : programs) MGTUNE_TRY(machine->capture(program));
  return machine;
}

GraphMachine::~GraphMachine() {
  for (const ProgramGraph& graph : graphs_) driver_.cuGraphExecDestroy(graph.replay);
  if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
}

Status GraphMachine::capture(const Program& program) {
  MGTUNE_TRY(driver_.status(
      driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "capturing"));
  Status launched = steps_->launch(program, stream_);
  CUgraph graph = nullptr;
  Status captured = driver_.status(driver_.cuStreamEndCapture(stream_, &graph), "capturing");
  MGTUNE_TRY(std::move(launched));
  MGTUNE_TRY(std::move(captured));
  CUgraphExec replay = nullptr;
  Status status =
      driver_.status(driver_.cuGraphInstantiate(&replay, graph, 0), "making a graph executable");
  driver_.cuGraphDestroy(graph);
  MGTUNE_TRY(std::move(status));
  graphs_.push_back({program, replay});
  return {};
}

Status GraphMachine::step(const Program& program) {
  MGTUNE_TRY(steps_->check_inputs(program));
  return steps(program, 1);
}

Status GraphMachine::steps(const Program& program, std::uint32_t count) {
  const auto graph = std::ranges::find(graphs_, program, &ProgramGraph::program);
  if (graph == graphs_.end()) {
    return invalid_argument("the machine was not made for this program");
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    MGTUNE_TRY(driver_.status(driver_.cuGraphLaunch(graph->replay, stream_), "launching a graph"));
  }
  return driver_.status(driver_.cuStreamSynchronize(stream_), "running a graph");
}

Status GraphMachine::read(const Buffer& buffer, std::span<std::byte> to) {
  return steps_->read(buffer, to);
}

Status GraphMachine::write(const Buffer& buffer, std::span<const std::byte> from) {
  return steps_->write(buffer, from);
}

Status GraphMachine::choose_variant(const KernelCall& call, const std::string& variant) {
  MGTUNE_TRY(steps_->choose_variant(call, variant));
  std::vector<ProgramGraph> unused = std::exchange(graphs_, {});
  Status status;
  for (const ProgramGraph& graph : unused) {
    if (status.ok()) status = capture(graph.program);
  }
  if (!status.ok()) std::swap(unused, graphs_);
  for (const ProgramGraph& graph : unused) driver_.cuGraphExecDestroy(graph.replay);
  return status;
}

MachineFactory graph_factory(StepsOptions options) {
  return [options = std::move(options)](
             std::span<const Program> programs,
             std::vector<std::byte> weights) -> Result<std::unique_ptr<Machine>> {
    MGTUNE_ASSIGN(auto machine, GraphMachine::create(programs, std::move(weights), options));
    return std::unique_ptr<Machine>(std::move(machine));
  };
}

}  // namespace mgtune::engine
