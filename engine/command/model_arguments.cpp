#include "command/model_arguments.h"

#include "core/dtype.h"

namespace mgtune::engine {

void ModelArguments::declare(ArgumentList& arguments, const std::string& default_dtype) {
  dtype = default_dtype;
  arguments.required("--model", model, "PATH", "Folder, config.json or llama2.c file of the model");
  arguments.choice("--dtype", dtype, {"f32", "bf16", "f16"}, "DTYPE",
                   "Of weights, activations and caches: f32, bf16 or f16");
  arguments.choice("--way", way, {"reference"}, "WAY",
                   "How the program runs. reference: on the host, in float with sums in double");
}

Precision ModelArguments::precision() const {
  const DType chosen = dtype_from_string(dtype).value_or(DType::f32);
  return {chosen, chosen, DType::f32, chosen};
}

}  // namespace mgtune::engine
