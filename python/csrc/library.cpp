// What Python calls through ctypes: it registers the operators with PyTorch, and asks about
// devices. Each text goes into a buffer of the caller and is cut off if the buffer is too small.

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <string>

#include "operators.h"
#include "plans.h"
#include "torch_abi.h"

namespace mgtune::torch {
namespace {

struct Operator {
  const char* name;
  const char* arguments;
  const char* results;
  OperatorFunction function;
};

constexpr std::array kOperators{
    Operator{"rms_norm", "Tensor x, Tensor weight, float eps, float weight_offset=0.0", "Tensor",
             rms_norm},
    Operator{"rms_norm_with_rstd", "Tensor x, Tensor weight, float eps, float weight_offset=0.0",
             "(Tensor, Tensor)", rms_norm_with_rstd},
    Operator{"rms_norm_backward",
             "Tensor dy, Tensor x, Tensor weight, Tensor rstd, float weight_offset=0.0, "
             "bool needs_dw=True",
             "(Tensor, Tensor)", rms_norm_backward},
    Operator{"add_rms_norm",
             "Tensor x, Tensor residual, Tensor weight, float eps, float weight_offset=0.0",
             "(Tensor, Tensor)", add_rms_norm},
    Operator{"add_rms_norm_with_rstd",
             "Tensor x, Tensor residual, Tensor weight, float eps, float weight_offset=0.0",
             "(Tensor, Tensor, Tensor)", add_rms_norm_with_rstd},
    Operator{"add_rms_norm_backward",
             "Tensor dy, Tensor ds, Tensor s, Tensor weight, Tensor rstd, "
             "float weight_offset=0.0, bool needs_dw=True",
             "(Tensor, Tensor)", add_rms_norm_backward},
    Operator{"swiglu", "Tensor gate, Tensor up", "Tensor", swiglu},
    Operator{"swiglu_backward", "Tensor dy, Tensor gate, Tensor up", "(Tensor, Tensor)",
             swiglu_backward},
    Operator{"swiglu_packed", "Tensor gate_up", "Tensor", swiglu_packed},
    Operator{"swiglu_packed_backward", "Tensor dy, Tensor gate_up", "Tensor",
             swiglu_packed_backward},
    Operator{"swiglu_gate_up", "Tensor x, Tensor gate_weight, Tensor up_weight", "Tensor",
             swiglu_gate_up},
    Operator{"swiglu_gate_up_with_products", "Tensor x, Tensor gate_weight, Tensor up_weight",
             "(Tensor, Tensor)", swiglu_gate_up_with_products},
    Operator{"swiglu_gate_up_packed", "Tensor x, Tensor gate_up_weight", "Tensor",
             swiglu_gate_up_packed},
    Operator{"swiglu_gate_up_packed_with_products", "Tensor x, Tensor gate_up_weight",
             "(Tensor, Tensor)", swiglu_gate_up_packed_with_products},
    Operator{"attention",
             "Tensor q, Tensor k, Tensor v, float scale, bool causal=False, int window=-1, "
             "float softcap=0.0",
             "Tensor", attention},
    Operator{"attention_with_lse",
             "Tensor q, Tensor k, Tensor v, float scale, bool causal=False, int window=-1, "
             "float softcap=0.0",
             "(Tensor, Tensor)", attention_with_lse},
    Operator{"attention_backward",
             "Tensor dout, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, float scale, "
             "bool causal=False",
             "(Tensor, Tensor, Tensor)", attention_backward},
    Operator{"attention_varlen",
             "Tensor q, Tensor k, Tensor v, Tensor q_starts, Tensor k_starts, int max_q, "
             "int max_k, float scale, bool causal=False, int window=-1, float softcap=0.0",
             "Tensor", attention_varlen},
    Operator{"attention_decode",
             "Tensor q, Tensor k, Tensor v, Tensor kv_lens, float scale, int kv_len=-1, "
             "bool causal=False, int window=-1, float softcap=0.0",
             "Tensor", attention_decode},
    Operator{"attention_decode_paged",
             "Tensor q, Tensor k, Tensor v, Tensor kv_lens, Tensor block_table, float scale, "
             "int kv_len=-1, bool causal=False, int window=-1, float softcap=0.0",
             "Tensor", attention_decode_paged},
};

// Each operator exists twice. Python gives gradients to the first. The second, with an underscore,
// never has a gradient: eager calls use it inside an autograd.Function, or if no gradient is
// needed, and PyTorch then calls the kernel without asking autograd.
std::array<std::string, 2> names_of(const Operator& op) {
  return {op.name, std::string("_") + op.name};
}

void register_operators() {
  const TorchAbi& abi = torch_abi();
  // The libraries stay for the life of the process: PyTorch would otherwise forget the operators.
  LibraryHandle schemas = nullptr;
  check(abi.aoti_torch_library_init_def("mgtune", __FILE_NAME__, __LINE__, &schemas));
  for (const Operator& op : kOperators) {
    for (const std::string& name : names_of(op)) {
      const std::string schema = name + "(" + op.arguments + ") -> " + op.results;
      check(abi.aoti_torch_library_def(schemas, schema.c_str()));
    }
  }
  for (const char* key : {"CPU", "CUDA"}) {
    LibraryHandle kernels = nullptr;
    check(abi.aoti_torch_library_init_impl("mgtune", key, __FILE_NAME__, __LINE__, &kernels));
    for (const Operator& op : kOperators) {
      for (const std::string& name : names_of(op)) {
        check(abi.torch_library_impl(kernels, name.c_str(), op.function, kTorchAbiVersion));
      }
    }
  }
}

void copy_text(const std::string& text, char* buffer, std::size_t size) {
  if (size > 0) buffer[text.copy(buffer, size - 1)] = '\0';
}

}  // namespace
}  // namespace mgtune::torch

#define MGTUNE_EXPORT extern "C" __attribute__((visibility("default")))

// Registers the operators. Leaves "" in the buffer, or why it cannot.
MGTUNE_EXPORT void mgtune_torch_register(char* message, std::size_t size) {
  using namespace mgtune::torch;
  std::string text = bind_torch_abi();
  try {
    if (text.empty()) register_operators();
  } catch (const std::exception& error) {
    text = error.what();
  }
  copy_text(text, message, size);
}

// Leaves "" in the buffer if kernels run on the device, otherwise why they do not.
MGTUNE_EXPORT void mgtune_torch_why_unavailable(const char* device_type, std::int32_t device_index,
                                                char* message, std::size_t size) {
  std::string text;
  try {
    text = mgtune::torch::why_unavailable(device_type, device_index);
  } catch (const std::exception& error) {
    text = error.what();
  }
  mgtune::torch::copy_text(text, message, size);
}

// The next call of each operator reads the tuned tables again.
MGTUNE_EXPORT void mgtune_torch_reload_tables() { mgtune::torch::reload_tables(); }
