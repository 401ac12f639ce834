#include "command/model_arguments.h"

#include "core/dtype.h"
#include "ways/ways.h"

namespace mgtune::engine {

void ModelArguments::declare(ArgumentList& arguments, const std::string& default_dtype) {
  dtype = default_dtype;
  arguments.required("--model", model, "PATH", "Folder, config.json or llama2.c file of the model");
  arguments.choice("--dtype", dtype, {"f32", "bf16", "f16"}, "DTYPE",
                   "Of weights, activations and caches: f32, bf16 or f16");
  arguments.choice("--way", way, {kWays.begin(), kWays.end()}, "WAY",
                   "How the program runs. reference: on the host, in float with sums in double; "
                   "steps: a tuned kernel per instruction; graph: a CUDA graph per token");
  arguments.value(
      "--device", device, "NAME",
      "Of the ways steps and graph: H200, an index, a UUID, cpu, or auto: the first GPU, "
      "or cpu if there is none");
}

Precision ModelArguments::precision() const {
  const DType chosen = dtype_from_string(dtype).value_or(DType::f32);
  return {chosen, chosen, DType::f32, chosen};
}

Result<MachineFactory> ModelArguments::machine() const { return machine_of(way, device); }

}  // namespace mgtune::engine
