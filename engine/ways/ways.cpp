#include "ways/ways.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "graph/graph_machine.h"
#include "reference/reference_machine.h"
#include "steps/steps_machine.h"

namespace mgtune::engine {

Result<MachineFactory> machine_of(std::string_view way, const std::string& device,
                                  const std::string& database) {
  if (way == "reference") return MachineFactory(ReferenceMachine::create);
  StepsOptions options;
  options.device = device;
  options.database = database;
  if (way == "steps") return steps_factory(std::move(options));
  if (way == "graph") return graph_factory(std::move(options));
  return invalid_argument(
      fmt::format("way is '{}', but it must be one of: {}", way, fmt::join(kWays, ", ")));
}

}  // namespace mgtune::engine
