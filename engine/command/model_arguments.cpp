#include "command/model_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/dtype.h"
#include "core/text.h"
#include "generate/model_source.h"
#include "ways/ways.h"

namespace mgtune::engine {

void ModelArguments::declare(ArgumentList& arguments, const std::string& default_dtype) {
  declare_model(arguments, default_dtype);
  arguments.choice("--way", way, {kWays.begin(), kWays.end()}, "WAY",
                   "How the program runs. reference: on the host, in float with sums in double; "
                   "steps: a tuned kernel per instruction; graph: a CUDA graph per token");
}

void ModelArguments::declare_model(ArgumentList& arguments, const std::string& default_dtype) {
  dtype = default_dtype;
  arguments.required("--model", model, "PATH", "Folder, config.json or llama2.c file of the model");
  arguments.choice("--dtype", dtype, {"f32", "bf16", "f16"}, "DTYPE",
                   "Of weights, activations and caches: f32, bf16 or f16");
  arguments.value(
      "--device", device, "NAME",
      "Of the ways steps and graph: H200, an index, a UUID, cpu, or auto: the first GPU, "
      "or cpu if there is none");
}

Precision ModelArguments::precision() const {
  const DType chosen = dtype_from_string(dtype).value_or(DType::f32);
  return {chosen, chosen, DType::f32, chosen};
}

Result<MachineFactory> ModelArguments::machine(const std::string& database) const {
  return machine_of(way, device, database);
}

Result<Session> ModelArguments::session(SessionOptions options, bool has_random_weights,
                                        const std::string& database) const {
  options.precision = precision();
  MGTUNE_ASSIGN(options.machine, machine(database));
  if (has_random_weights) {
    MGTUNE_ASSIGN(const ModelConfig config, open_config(model));
    return Session::create_random(config, options, 1);
  }
  MGTUNE_ASSIGN(const ModelSource source, open_model(model));
  return Session::create(source.config, source.tensors, options);
}

Result<std::vector<std::uint32_t>> parse_positions(const std::string& list) {
  std::vector<std::uint32_t> positions;
  for (const std::string& word : split_list(list)) {
    const auto position = parse_number<std::uint32_t>(word);
    if (!position || *position >= 1U << 30) {
      return invalid_argument(
          fmt::format("--positions {}: '{}' is not a position, such as 128", list, word));
    }
    positions.push_back(*position);
  }
  return positions;
}

void TokenPositions::declare(ArgumentList& arguments) {
  arguments.value("--positions", list, "LIST",
                  "Positions whose tokens count (default: 128,512,2047, as far as the model goes)");
}

Result<std::vector<std::uint32_t>> TokenPositions::resolve(const ModelConfig& config) {
  std::vector<std::uint32_t> positions;
  if (list.empty()) {
    const std::uint32_t end = std::max(capacity == 0 ? config.positions : capacity, 1U);
    for (const std::uint32_t position : {128U, 512U, 2047U}) {
      if (positions.empty() || positions.back() < end - 1) {
        positions.push_back(std::min(position, end - 1));
      }
    }
  } else {
    MGTUNE_ASSIGN(positions, parse_positions(list));
  }
  const std::uint32_t largest = std::ranges::max(positions);
  if (capacity == 0) capacity = largest + 1;
  if (largest < capacity) return positions;
  return invalid_argument(
      fmt::format("--positions {}: the caches have room for {} positions", list, capacity));
}

}  // namespace mgtune::engine
