#include "launch/launch_dims.h"

#include <fmt/format.h>

namespace mgtune {

// The finalizer of SplitMix64 (https://prng.di.unimi.it/splitmix64.c) for each dim.
std::uint64_t hash_of(std::span<const std::int64_t> dims) {
  std::uint64_t hash = 0;
  for (const std::int64_t dim : dims) {
    hash += static_cast<std::uint64_t>(dim) + 0x9e3779b97f4a7c15U;
    hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9U;
    hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebU;
    hash ^= hash >> 31U;
  }
  return hash;
}

LaunchDims::LaunchDims(const Operator& op) : op_(op) {
  for (const Dim& dim : op.dims) {
    if (dim.kind != DimKind::fixed) dims_.push_back(&dim);
  }
}

Status LaunchDims::resolve(std::span<const std::int64_t> dims,
                           std::span<std::int64_t> slots) const {
  if (dims.size() != dims_.size()) {
    return invalid_argument(
        fmt::format("{}: {} dims passed, {} declared", op_.full_name(), dims.size(), dims_.size()));
  }
  // Given dims come first, so that a default may name a dim that is declared after it.
  bool defaults = false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] >= 0) {
      slots[std::size_t(dims_[i]->slot)] = dims[i];
    } else if (dims[i] == -1 && dims_[i]->fallback) {
      defaults = true;
    } else if (dims[i] == -1) {
      return invalid_argument(
          fmt::format("{}: dim '{}' has no default", op_.full_name(), dims_[i]->name));
    } else {
      return invalid_argument(
          fmt::format("{}: dim '{}' is {}", op_.full_name(), dims_[i]->name, dims[i]));
    }
  }
  if (!defaults) return {};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] >= 0) continue;
    MGTUNE_ASSIGN(const std::int64_t value, dims_[i]->fallback->evaluate(slots));
    if (value < 0) {
      return invalid_argument(
          fmt::format("{}: the default of dim '{}' is {}", op_.full_name(), dims_[i]->name, value));
    }
    slots[std::size_t(dims_[i]->slot)] = value;
  }
  return {};
}

std::string LaunchDims::text(std::span<const std::int64_t> slots) const {
  std::string text;
  for (const Dim* dim : dims_) {
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : " ", dim->name, slots[std::size_t(dim->slot)]);
  }
  return text;
}

}  // namespace mgtune
