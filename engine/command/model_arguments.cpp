#include "command/model_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/dtype.h"
#include "core/text.h"
#include "generate/model_source.h"
#include "system/temporary_folder.h"
#include "ways/ways.h"

namespace mgtune::engine {

void ModelArguments::declare(ArgumentList& arguments, const std::string& default_dtype,
                             const std::string& model_help) {
  declare_model(arguments, default_dtype, model_help);
  arguments.choice("--way", way, {kWays.begin(), kWays.end()}, "WAY",
                   "How the program runs. graph: a CUDA graph per token; steps: a tuned kernel per "
                   "instruction; reference: on the host, slowly; auto: graph if there is a GPU or "
                   "one is named, steps with --device cpu, otherwise reference");
}

void ModelArguments::declare_model(ArgumentList& arguments, const std::string& default_dtype,
                                   const std::string& model_help) {
  dtype = default_dtype;
  arguments.required("--model", model, "PATH", model_help);
  arguments.choice("--dtype", dtype, {"f32", "bf16", "f16"}, "DTYPE",
                   "Of weights, activations and caches: f32, bf16 or f16");
  arguments.value("--device", device, "NAME",
                  "For --way steps and graph: H200, an index, a UUID, cpu, or auto: the first GPU, "
                  "or cpu if there is none");
}

Precision ModelArguments::precision() const {
  const DType chosen = dtype_from_string(dtype).value_or(DType::f32);
  return {chosen, chosen, DType::f32, chosen};
}

Result<MachineFactory> ModelArguments::machine(const std::string& database) {
  MGTUNE_ASSIGN(way, resolve_way(way, device));
  if (way != "reference") TemporaryFolder::remove_abandoned();
  return machine_of(way, device, database);
}

Result<Session> ModelArguments::session(SessionOptions options, bool has_random_weights,
                                        const std::string& database) {
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

std::vector<std::uint32_t> positions_below(std::uint32_t end,
                                           std::initializer_list<std::uint32_t> positions) {
  const std::uint32_t last = std::max(end, 1U) - 1;
  std::vector<std::uint32_t> below;
  for (const std::uint32_t position : positions) {
    if (below.empty() || below.back() < last) below.push_back(std::min(position, last));
  }
  return below;
}

void TokenPositions::declare(ArgumentList& arguments) {
  arguments.value("--positions", list, "LIST",
                  "Positions whose tokens count (default: 128,512,2047, as far as the model goes)");
}

Result<std::vector<std::uint32_t>> TokenPositions::resolve(const ModelConfig& config) {
  std::vector<std::uint32_t> positions;
  if (list.empty()) {
    positions = positions_below(capacity == 0 ? config.positions : capacity, {128, 512, 2047});
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
