#include "reference/row_access.h"

#include <cassert>
#include <cstring>

#include "elements/elements.h"

namespace mgtune::engine {

void RowAccess::load(Operand operand, std::uint64_t offset, std::span<float> to) const {
  const Buffer& from = buffer(operand);
  const auto size = static_cast<std::uint64_t>(size_in_bytes(from.dtype));
  assert(offset + to.size() <= from.elements);
  const std::span<const std::byte> bytes =
      memory_.read(from).subspan(offset * size, to.size() * size);
  load_floats(from.dtype, bytes.data(), to);
}

std::vector<float> RowAccess::load(Operand operand, std::uint64_t offset,
                                   std::uint64_t count) const {
  std::vector<float> row(count);
  load(operand, offset, row);
  return row;
}

void RowAccess::store(Operand operand, std::uint64_t offset, std::span<const float> from) {
  const Buffer& to = buffer(operand);
  const auto size = static_cast<std::uint64_t>(size_in_bytes(to.dtype));
  assert(offset + from.size() <= to.elements);
  const std::span<std::byte> bytes = memory_.write(to).subspan(offset * size, from.size() * size);
  store_floats(to.dtype, from, bytes.data());
}

std::int32_t RowAccess::load_integer(Operand operand, std::uint64_t index) const {
  std::int32_t value = 0;
  assert(index < buffer(operand).elements);
  std::memcpy(&value, memory_.read(buffer(operand)).subspan(index * sizeof(value)).data(),
              sizeof(value));
  return value;
}

void RowAccess::store_integer(Operand operand, std::uint64_t index, std::int32_t value) {
  assert(index < buffer(operand).elements);
  std::memcpy(memory_.write(buffer(operand)).subspan(index * sizeof(value)).data(), &value,
              sizeof(value));
}

}  // namespace mgtune::engine
