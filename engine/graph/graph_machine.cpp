#include "graph/graph_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string_view>
#include <utility>

namespace mgtune::engine {
namespace {

constexpr std::uint32_t kTimedReplays = 8;
constexpr std::size_t kAllLaunches = std::numeric_limits<std::size_t>::max();

}  // namespace

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
  // A stream that waits for the default stream, which has the host's copies.
  MGTUNE_TRY(driver->status(driver->cuStreamCreate(&machine->stream_, CU_STREAM_DEFAULT),
                            "making the stream of a graph"));
  for (const Program& program : programs) {
    MGTUNE_ASSIGN(Graph graph, machine->capture(program, kAllLaunches));
    machine->graphs_.push_back({program, std::move(graph)});
  }
  return machine;
}

GraphMachine::~GraphMachine() {
  graphs_.clear();
  if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
}

Result<GraphMachine::Graph> GraphMachine::capture(const Program& program, std::size_t count) {
  MGTUNE_TRY(driver_.status(
      driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "capturing"));
  Status launched = steps_->launch(program, stream_, count);
  CUgraph graph = nullptr;
  Status captured = driver_.status(driver_.cuStreamEndCapture(stream_, &graph), "capturing");
  MGTUNE_TRY(std::move(launched));
  MGTUNE_TRY(std::move(captured));
  CUgraphExec replay = nullptr;
  Status status =
      driver_.status(driver_.cuGraphInstantiate(&replay, graph, 0), "making a graph executable");
  driver_.cuGraphDestroy(graph);
  MGTUNE_TRY(std::move(status));
  return Graph(replay, DestroyGraph{&driver_});
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
    MGTUNE_TRY(
        driver_.status(driver_.cuGraphLaunch(graph->replay.get(), stream_), "launching a graph"));
  }
  return driver_.status(driver_.cuStreamSynchronize(stream_), "running a graph");
}

Result<double> GraphMachine::time_of(const Graph& graph) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin;
  for (std::uint32_t i = 0; i <= kTimedReplays; ++i) {
    if (i == 1) begin = Clock::now();
    MGTUNE_TRY(driver_.status(driver_.cuGraphLaunch(graph.get(), stream_), "launching a graph"));
    if (i == 0) {
      MGTUNE_TRY(driver_.status(driver_.cuStreamSynchronize(stream_), "running a graph"));
    }
  }
  MGTUNE_TRY(driver_.status(driver_.cuStreamSynchronize(stream_), "running a graph"));
  return std::chrono::duration<double>(Clock::now() - begin).count() / kTimedReplays;
}

Result<double> GraphMachine::time_alone(const Graph& graph, std::span<const Kept> state) {
  using Clock = std::chrono::steady_clock;
  double seconds = 0;
  for (std::uint32_t i = 0; i <= kTimedReplays; ++i) {
    for (const Kept& kept : state) MGTUNE_TRY(write(kept.buffer, kept.bytes));
    const Clock::time_point begin = Clock::now();
    MGTUNE_TRY(driver_.status(driver_.cuGraphLaunch(graph.get(), stream_), "launching a graph"));
    MGTUNE_TRY(driver_.status(driver_.cuStreamSynchronize(stream_), "running a graph"));
    if (i > 0) seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  }
  return seconds / kTimedReplays;
}

// The last instruction advances the positions. So the replays of the whole graph run one by one,
// each from the saved state. The graph without the last instruction is timed in the same way, so
// that the two times can be compared. At the end, the state is that after one step.
Result<std::vector<double>> GraphMachine::timed_step(const Program& program) {
  MGTUNE_TRY(steps_->check_inputs(program));
  MGTUNE_ASSIGN(const std::vector<std::uint32_t> order, steps_->launch_order(program));
  MGTUNE_ASSIGN(const std::vector<Kept> state, kept_state(program));
  std::vector<double> seconds(program.instructions.size(), 0);
  double before = 0, without_last = 0;
  for (std::size_t count = 1; count < order.size(); ++count) {
    MGTUNE_ASSIGN(const Graph graph, capture(program, count));
    MGTUNE_ASSIGN(const double until_here, time_of(graph));
    seconds[order[count - 1]] = until_here - before;
    before = until_here;
    if (count + 1 == order.size()) {
      MGTUNE_ASSIGN(without_last, time_alone(graph, state));
    }
  }
  MGTUNE_ASSIGN(const Graph whole, capture(program, kAllLaunches));
  MGTUNE_ASSIGN(const double with_last, time_alone(whole, state));
  seconds[order.back()] = with_last - without_last;
  return seconds;
}

Result<std::vector<GraphMachine::Kept>> GraphMachine::kept_state(const Program& program) {
  std::vector<Kept> state;
  for (const std::string_view name : {kTokens, kPositions, kLengths}) {
    const auto index = program.find_buffer(name);
    if (!index) continue;
    const Buffer& buffer = program.buffers[*index];
    state.push_back({buffer, std::vector<std::byte>(*size_in_bytes(buffer))});
    MGTUNE_TRY(read(buffer, state.back().bytes));
  }
  return state;
}

Status GraphMachine::read(const Buffer& buffer, std::span<std::byte> to) {
  return steps_->read(buffer, to);
}

Status GraphMachine::write(const Buffer& buffer, std::span<const std::byte> from) {
  return steps_->write(buffer, from);
}

Status GraphMachine::choose_variant(const KernelCall& call, const std::string& variant) {
  MGTUNE_TRY(steps_->choose_variant(call, variant));
  std::vector<ProgramGraph> graphs;
  for (const ProgramGraph& graph : graphs_) {
    MGTUNE_ASSIGN(Graph captured, capture(graph.program, kAllLaunches));
    graphs.push_back({graph.program, std::move(captured)});
  }
  graphs_ = std::move(graphs);
  return {};
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
