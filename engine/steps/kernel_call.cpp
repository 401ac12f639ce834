#include "steps/kernel_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "core/dtype.h"
#include "program/operation.h"

namespace mgtune::engine {
namespace {

// An instruction with its program, and the call that is being made from it.
class CallMaker {
 public:
  CallMaker(const Program& program, const Instruction& instruction, const char* operator_name)
      : program_(program), instruction_(instruction) {
    call_.operator_name = operator_name;
  }

  DType dtype(Operand operand) const { return program_.buffers[instruction_.at(operand)].dtype; }

  // Whether all of these operands that the instruction has are of the dtype.
  bool are_all(DType dtype, std::initializer_list<Operand> operands) const {
    return std::ranges::all_of(operands, [&](Operand operand) {
      return !instruction_.has(operand) || this->dtype(operand) == dtype;
    });
  }

  CallMaker& assign(std::string name, std::string_view value) {
    call_.assignments.emplace_back(std::move(name), value);
    return *this;
  }
  CallMaker& assign(std::string name, DType dtype) {
    return assign(std::move(name), to_string(dtype));
  }
  CallMaker& assign(std::string name, std::uint32_t dim) {
    return assign(std::move(name), std::to_string(dim));
  }
  CallMaker& flag(std::string name, bool is_set) {
    return is_set ? assign(std::move(name), "true") : *this;
  }
  // Sets the flag of an optional tensor if the instruction has the operand.
  CallMaker& optional(std::string name, Operand operand) {
    return flag(std::move(name), instruction_.has(operand));
  }
  CallMaker& dim(std::string name, std::int64_t value) {
    call_.dims.emplace_back(std::move(name), value);
    return *this;
  }
  CallMaker& defaults(std::initializer_list<const char*> names) {
    for (const char* const name : names) dim(name, -1);
    return *this;
  }
  CallMaker& tensor(Operand operand) {
    call_.tensors.push_back(instruction_.at(operand));
    return *this;
  }
  CallMaker& tensors(std::initializer_list<Operand> operands) {
    for (const Operand operand : operands) tensor(operand);
    return *this;
  }
  CallMaker& no_tensor() {
    call_.tensors.push_back(kNone);
    return *this;
  }
  CallMaker& scalar(double value) {
    call_.scalars.push_back(value);
    return *this;
  }
  KernelCall call() { return std::move(call_); }

 private:
  const Program& program_;
  const Instruction& instruction_;
  KernelCall call_;
};

using Maybe = std::optional<KernelCall>;

bool is_or_f32(DType dtype, DType other) { return dtype == other || dtype == DType::f32; }

Maybe embed_call(const Program& program, const Instruction& i) {
  CallMaker make(program, i, "embedding.forward");
  const DType weights = make.dtype(Operand::weight), output = make.dtype(Operand::output);
  if (!make.are_all(weights, {Operand::table}) || !is_or_f32(output, weights)) return {};
  return make.assign("T", weights)
      .assign("Y", output)
      .optional("table", Operand::table)
      .dim("rows", i.rows)
      .dim("columns", i.out)
      .dim("vocabulary", i.in)
      .dim("capacity", i.has(Operand::table) ? i.capacity : 1)
      .defaults({"y_stride"})
      .tensors(
          {Operand::tokens, Operand::weight, Operand::positions, Operand::table, Operand::output})
      .call();
}

Maybe norm_call(const Program& program, const Instruction& i) {
  const bool is_rms = i.norm == Norm::rms;
  CallMaker make(program, i, is_rms ? "rmsnorm.forward" : "layernorm.forward");
  const DType rows = make.dtype(Operand::input), weights = make.dtype(Operand::norm_weight);
  if (!make.are_all(rows, {Operand::output}) || !make.are_all(weights, {Operand::norm_bias}) ||
      !is_or_f32(weights, rows)) {
    return {};
  }
  make.assign("T", rows).assign("W", weights).optional("bias", Operand::norm_bias);
  if (is_rms) {
    make.assign("hidden", i.in).dim("rows", i.rows).defaults({"x_stride"});
    make.tensors({Operand::input, Operand::norm_weight, Operand::output}).no_tensor();
    return make.scalar(i.epsilon).scalar(0).call();
  }
  make.dim("rows", i.rows).dim("columns", i.in).defaults({"x_stride"});
  make.tensors({Operand::input, Operand::norm_weight, Operand::norm_bias, Operand::output});
  return make.scalar(i.epsilon).call();
}

void assign_norm(const Instruction& i, CallMaker& make) {
  make.flag("rmsnorm", i.norm == Norm::rms)
      .flag("layernorm", i.norm == Norm::layer)
      .optional("norm_bias", Operand::norm_bias)
      .optional("bias", Operand::bias);
}

Maybe linear_call(const Program& program, const Instruction& i) {
  CallMaker make(program, i, "linear.decode");
  const DType weights = make.dtype(Operand::weight), input = make.dtype(Operand::input);
  const DType output = make.dtype(Operand::output);
  if (!make.are_all(weights, {Operand::bias, Operand::norm_weight, Operand::norm_bias}) ||
      !make.are_all(output, {Operand::residual}) || !is_or_f32(input, weights) ||
      !is_or_f32(output, weights)) {
    return {};
  }
  assign_norm(i, make);
  return make.assign("rows", i.rows)
      .assign("T", weights)
      .assign("X", input)
      .assign("Y", output)
      .flag("gelu_tanh", i.activation == Activation::gelu_tanh)
      .flag("silu_gate", i.activation == Activation::silu_gate)
      .optional("residual", Operand::residual)
      .dim("out", static_cast<std::int64_t>(output_columns(i)))
      .dim("in", i.in)
      .defaults({"x_stride", "w_stride", "residual_stride", "y_stride"})
      .tensors({Operand::input, Operand::norm_weight, Operand::norm_bias, Operand::weight})
      .no_tensor()
      .tensors({Operand::bias, Operand::residual, Operand::output})
      .scalar(i.epsilon)
      .call();
}

Maybe append_call(const Program& program, const Instruction& i) {
  CallMaker make(program, i, "linear.qkv");
  const DType weights = make.dtype(Operand::weight), input = make.dtype(Operand::input);
  const DType cache = make.dtype(Operand::keys);
  if (!make.are_all(weights, {Operand::bias, Operand::norm_weight, Operand::norm_bias}) ||
      !make.are_all(cache, {Operand::values, Operand::output}) || !is_or_f32(input, weights) ||
      !is_or_f32(cache, weights) || i.head_dim % 2 != 0 || i.head_dim > 256) {
    return {};
  }
  assign_norm(i, make);
  return make.assign("rows", i.rows)
      .assign("head_dim", i.head_dim)
      .assign("T", weights)
      .assign("X", input)
      .assign("C", cache)
      .flag("rotary_halves", i.rotation == Rotation::halves)
      .flag("rotary_pairs", i.rotation == Rotation::pairs)
      .dim("heads", i.heads)
      .dim("kv_heads", i.kv_heads)
      .dim("in", i.in)
      .dim("capacity", i.capacity)
      .defaults({"x_stride", "w_stride", "q_stride", "cache_sb", "cache_ss", "cache_sh"})
      .tensors({Operand::input, Operand::norm_weight, Operand::norm_bias, Operand::weight,
                Operand::bias, Operand::table, Operand::positions, Operand::output, Operand::keys,
                Operand::values})
      .scalar(i.epsilon)
      .call();
}

// Attention on the tensor cores, with the keys split over the device.
KernelCall decode_call(const Program& program, const Instruction& i) {
  CallMaker make(program, i, "attention.decode");
  return make.assign("T", make.dtype(Operand::keys))
      .assign("head_dim", i.head_dim)
      .flag("windowed", i.window != 0)
      .dim("batch", i.rows)
      .dim("q_len", 1)
      .dim("kv_len", std::min(program.positions, i.capacity))
      .defaults({"total_kv"})
      .dim("heads", i.heads)
      .dim("kv_heads", i.kv_heads)
      // The window of an instruction includes the newest key; the operator's window does not.
      .dim("window", i.window == 0 ? 0 : std::int64_t{i.window} - 1)
      .defaults({"page_size", "pages", "max_pages"})
      .dim("capacity", i.capacity)
      .defaults({"q_sb", "q_ss", "q_sh", "k_sb", "k_ss", "k_sh", "v_sb", "v_ss", "v_sh", "o_sb",
                 "o_ss", "o_sh"})
      .tensors({Operand::input, Operand::keys, Operand::values, Operand::lengths})
      .no_tensor()
      .tensor(Operand::output)
      .no_tensor()
      .scalar(i.scale)
      .scalar(0)
      .call();
}

Maybe attention_call(const Program& program, const Instruction& i) {
  CallMaker make(program, i, "token_attention.forward");
  const DType dtype = make.dtype(Operand::keys);
  if (!make.are_all(dtype, {Operand::input, Operand::values, Operand::output})) return {};
  const bool has_tiles =
      i.head_dim == 64 || i.head_dim == 96 || i.head_dim == 128 || i.head_dim == 256;
  if (has_tiles && dtype != DType::f32) return decode_call(program, i);
  if (i.head_dim > 256) return {};
  return make.assign("T", dtype)
      .assign("head_dim", i.head_dim)
      .dim("rows", i.rows)
      .dim("heads", i.heads)
      .dim("kv_heads", i.kv_heads)
      .dim("capacity", i.capacity)
      .dim("window", i.window)
      .tensors({Operand::input, Operand::keys, Operand::values, Operand::lengths, Operand::output})
      .scalar(i.scale)
      .call();
}

Maybe partial_call(const Program& program, const Instruction& i) {
  CallMaker make(program, i, "token_attention.partial");
  const DType dtype = make.dtype(Operand::keys);
  if (!make.are_all(dtype, {Operand::input, Operand::values}) || i.head_dim > 256) return {};
  return make.assign("T", dtype)
      .assign("head_dim", i.head_dim)
      .dim("rows", i.rows)
      .dim("heads", i.heads)
      .dim("kv_heads", i.kv_heads)
      .dim("capacity", i.capacity)
      .dim("window", i.window)
      .dim("splits", i.splits)
      .tensors({Operand::input, Operand::keys, Operand::values, Operand::lengths, Operand::output,
                Operand::statistics})
      .scalar(i.scale)
      .call();
}

Maybe reduce_call(const Program& program, const Instruction& i) {
  CallMaker make(program, i, "token_attention.reduce");
  if (i.head_dim > 65536) return {};
  return make.assign("Y", make.dtype(Operand::output))
      .dim("rows", i.rows)
      .dim("heads", i.heads)
      .dim("splits", i.splits)
      .dim("head_dim", i.head_dim)
      .tensors({Operand::input, Operand::statistics, Operand::output})
      .call();
}

KernelCall copy_call(const Program& program, const Instruction& i) {
  CallMaker make(program, i, "elements.copy");
  return make.assign("X", make.dtype(Operand::input))
      .assign("Y", make.dtype(Operand::output))
      .dim("count", std::int64_t{i.rows} * i.out)
      .tensors({Operand::input, Operand::output})
      .call();
}

KernelCall zero_call(const Program& program, const Instruction& i) {
  CallMaker make(program, i, "elements.zero");
  return make.assign("Y", make.dtype(Operand::output))
      .dim("count", std::int64_t{i.rows} * i.out)
      .tensor(Operand::output)
      .call();
}

Maybe argmax_call(const Program& program, const Instruction& i) {
  CallMaker make(program, i, "argmax.forward");
  return make.assign("T", make.dtype(Operand::input))
      .optional("positions", Operand::positions)
      .optional("lengths", Operand::lengths)
      .dim("rows", i.rows)
      .dim("columns", i.in)
      .defaults({"x_stride"})
      .tensors({Operand::input, Operand::tokens, Operand::positions, Operand::lengths})
      .call();
}

Maybe sample_call(const Program& program, const Instruction& i) {
  CallMaker make(program, i, "sample.forward");
  if (i.in > 4'194'304) return {};  // the sums of more weights could overflow
  return make.assign("T", make.dtype(Operand::input))
      .optional("positions", Operand::positions)
      .optional("lengths", Operand::lengths)
      .dim("rows", i.rows)
      .dim("columns", i.in)
      .defaults({"x_stride"})
      .tensors({Operand::input, Operand::sampling, Operand::tokens, Operand::positions,
                Operand::lengths})
      .call();
}

}  // namespace

std::string text_of(const KernelCall& call) {
  std::string text = call.operator_name;
  for (const auto& [name, value] : call.assignments) text += fmt::format(" {}={}", name, value);
  for (const auto& [name, value] : call.dims) text += fmt::format(" {}={}", name, value);
  return text;
}

std::optional<KernelCall> kernel_call(const Program& program, const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::embed:
      return embed_call(program, instruction);
    case Opcode::norm:
      return norm_call(program, instruction);
    case Opcode::linear:
      return appends(instruction) ? append_call(program, instruction)
                                  : linear_call(program, instruction);
    case Opcode::attention:
      return attention_call(program, instruction);
    case Opcode::attention_partial:
      return partial_call(program, instruction);
    case Opcode::attention_reduce:
      return reduce_call(program, instruction);
    case Opcode::copy:
      return copy_call(program, instruction);
    case Opcode::zero:
      return zero_call(program, instruction);
    case Opcode::argmax:
      return argmax_call(program, instruction);
    case Opcode::sample:
      return sample_call(program, instruction);
    case Opcode::barrier:
      break;
  }
  return {};
}

}  // namespace mgtune::engine
