#include "weights/load_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <span>

#include "core/text.h"
#include "elements/elements.h"
#include "model/rotary_table.h"
#include "program/operation.h"
#include "weights/unused_tensors.h"

namespace mgtune::engine {
namespace {

std::uint64_t element_count(const std::vector<std::uint64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

Result<const TensorView*> find_tensor(const TensorSet& set, const WeightPart& part) {
  auto found = set.tensors.end();
  for (const std::string_view prefix : kTensorPrefixes) {
    const auto with_prefix = set.tensors.find(fmt::format("{}{}", prefix, part.tensor));
    if (with_prefix == set.tensors.end()) continue;
    if (found != set.tensors.end()) {
      return corrupt(
          fmt::format("{}: it has both {} and {}", set.path, found->first, with_prefix->first));
    }
    found = with_prefix;
  }
  if (found == set.tensors.end()) {
    return corrupt(set.files.size() > 1
                       ? fmt::format("{}: none of its {} files has the tensor {}", set.path,
                                     set.files.size(), part.tensor)
                       : fmt::format("{}: the tensor {} is missing", set.path, part.tensor));
  }
  const TensorView& tensor = found->second;
  if (tensor.shape != part.shape) {
    return corrupt(fmt::format("{}: {}: its shape is {}, but the config says {}",
                               set.file_of(tensor), found->first, shape_text(tensor.shape),
                               shape_text(part.shape)));
  }
  if (!is_element_dtype(tensor.dtype)) {
    return unsupported(fmt::format("{}: {}: its dtype is {}, but weights are f32, f16 or bf16",
                                   set.file_of(tensor), found->first, to_string(tensor.dtype)));
  }
  return &tensor;
}

void copy_part(const TensorView& tensor, const WeightPart& part, DType dtype, std::byte* to) {
  const std::uint64_t count = element_count(part.shape);
  if (tensor.dtype == dtype && !part.transposed) {
    if (count != 0) std::memcpy(to, tensor.bytes.data(), tensor.bytes.size());
    return;
  }
  const auto from_size = static_cast<std::uint64_t>(size_in_bytes(tensor.dtype));
  const auto to_size = static_cast<std::uint64_t>(size_in_bytes(dtype));
  const std::uint64_t rows = part.transposed ? part.shape[1] : part.shape[0];
  const std::uint64_t columns = count / rows;
  std::vector<float> row(columns);
  for (std::uint64_t i = 0; i < rows; ++i) {
    if (part.transposed) {
      for (std::uint64_t k = 0; k < columns; ++k) {
        load_floats(tensor.dtype, tensor.bytes.data() + (k * rows + i) * from_size,
                    std::span(row).subspan(k, 1));
      }
    } else {
      load_floats(tensor.dtype, tensor.bytes.data() + i * columns * from_size, row);
    }
    store_floats(dtype, row, to + i * columns * to_size);
  }
}

void fill_rotary_table(const Buffer& buffer, const ModelConfig& config, std::byte* to) {
  const auto positions = static_cast<std::uint32_t>(buffer.elements / config.head_dim);
  store_floats(buffer.dtype, rotary_table(config, positions), to);
}

Result<std::vector<std::byte>> weight_arena(const Program& program) {
  return allocate_arena(*arena_bytes(program, BufferKind::weight));
}

const Buffer& buffer_of(const Program& program, const WeightRecipe& recipe) {
  return program.buffers[*program.find_buffer(recipe.buffer)];
}

bool is_norm_weight(const Program& program, const Buffer& buffer) {
  return std::ranges::any_of(program.instructions, [&](const Instruction& instruction) {
    return instruction.has(Operand::norm_weight) &&
           &program.buffers[instruction.at(Operand::norm_weight)] == &buffer;
  });
}

}  // namespace

Result<std::vector<std::byte>> allocate_arena(std::uint64_t bytes) {
  try {
    return std::vector<std::byte>(bytes);
  } catch (const std::exception&) {  // std::bad_alloc or std::length_error
    return environment_error(
        fmt::format("this machine has no {} MiB of free memory", bytes / 1048576));
  }
}

Result<std::vector<std::byte>> load_weights(const Program& program,
                                            const std::vector<WeightRecipe>& recipes,
                                            const ModelConfig& config, const TensorSet& tensors) {
  // All tensors are checked before memory is taken for them.
  for (const WeightRecipe& recipe : recipes) {
    for (const WeightPart& part : recipe.parts) MGTUNE_TRY(find_tensor(tensors, part).status());
  }
  MGTUNE_TRY(refuse_unused_tensors(recipes, config, tensors));
  MGTUNE_ASSIGN(std::vector<std::byte> arena, weight_arena(program));
  for (const WeightRecipe& recipe : recipes) {
    const Buffer& buffer = buffer_of(program, recipe);
    std::byte* to = arena.data() + buffer.base;
    if (recipe.kind == WeightRecipe::Kind::rotary_table) fill_rotary_table(buffer, config, to);
    for (const WeightPart& part : recipe.parts) {
      MGTUNE_ASSIGN(const TensorView* const tensor, find_tensor(tensors, part));
      copy_part(*tensor, part, buffer.dtype, to);
      to += element_count(part.shape) * static_cast<std::uint64_t>(size_in_bytes(buffer.dtype));
    }
  }
  return arena;
}

Result<std::vector<std::byte>> random_weights(const Program& program,
                                              const std::vector<WeightRecipe>& recipes,
                                              const ModelConfig& config, std::uint64_t seed) {
  MGTUNE_ASSIGN(std::vector<std::byte> arena, weight_arena(program));
  std::uint64_t state = seed;
  constexpr float kWidth = 0.02F * 3.4641016F;  // uniform: sqrt(12) standard deviations wide
  for (const WeightRecipe& recipe : recipes) {
    const Buffer& buffer = buffer_of(program, recipe);
    std::byte* const to = arena.data() + buffer.base;
    if (recipe.kind == WeightRecipe::Kind::rotary_table) {
      fill_rotary_table(buffer, config, to);
      continue;
    }
    const bool is_norm = is_norm_weight(program, buffer);
    std::array<float, 1024> chunk{};
    const auto size = static_cast<std::uint64_t>(size_in_bytes(buffer.dtype));
    for (std::uint64_t done = 0; done < buffer.elements; done += chunk.size()) {
      const std::uint64_t count = std::min<std::uint64_t>(chunk.size(), buffer.elements - done);
      for (float& value : chunk) {
        state = state * 6364136223846793005 + 1442695040888963407;
        const float unit = static_cast<float>(state >> 40) * 0x1p-24F;
        value = is_norm ? 1 : (unit - 0.5F) * kWidth;
      }
      store_floats(buffer.dtype, std::span(chunk).first(count), to + done * size);
    }
  }
  return arena;
}

}  // namespace mgtune::engine
