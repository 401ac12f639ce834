#include "tensors/problem_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/dtype.h"

namespace mgtune {
namespace {

// For each element of the span: whether it belongs to the shape.
std::vector<bool> occupied(const TensorLayout& layout) {
  std::vector<bool> inside(static_cast<std::size_t>(layout.span), false);
  for_each_element(layout, [&](std::int64_t, std::int64_t offset) {
    inside[static_cast<std::size_t>(offset)] = true;
  });
  return inside;
}

// The first element of the span outside the shape that does not hold poison.
std::optional<std::size_t> changed_padding(const TensorLayout& layout, const Bytes& image) {
  if (layout.count >= layout.span) return std::nullopt;
  const std::vector<bool> inside = occupied(layout);
  const auto size = static_cast<std::size_t>(size_in_bytes(layout.dtype));
  const Bytes poisoned(size, poison_byte(layout.dtype));
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (!inside[i] && std::memcmp(&image[i * size], poisoned.data(), size) != 0) return i;
  }
  return std::nullopt;
}

std::string name_of_offset(const TensorLayout& layout, std::size_t offset) {
  std::string name = fmt::format("element {} of its memory", offset);
  for_each_element(layout, [&](std::int64_t element, std::int64_t at) {
    if (static_cast<std::size_t>(at) == offset) name = element_name(layout, element);
  });
  return name;
}

}  // namespace

unsigned char poison_byte(DType dtype) { return is_floating(dtype) ? 0xff : 0xa5; }

Bytes strided_image(const TensorLayout& layout, const Bytes& elements) {
  if (layout.is_contiguous()) return elements;
  Bytes image(layout.bytes(), poison_byte(layout.dtype));
  const auto size = static_cast<std::size_t>(size_in_bytes(layout.dtype));
  for_each_element(layout, [&](std::int64_t element, std::int64_t offset) {
    std::memcpy(&image[static_cast<std::size_t>(offset) * size],
                &elements[static_cast<std::size_t>(element) * size], size);
  });
  return image;
}

Result<ProblemTensors> ProblemTensors::allocate(Device& device,
                                                const std::vector<TensorLayout>& layouts,
                                                Placement placement) {
  ProblemTensors tensors(device, layouts);
  tensors.contents_.resize(layouts.size());
  for (const TensorLayout& layout : layouts) {
    GuardedBuffer& buffer = tensors.buffers_.emplace_back();
    if (layout.present) {
      Result<GuardedBuffer> memory = GuardedBuffer::allocate(
          device, layout.bytes(), static_cast<std::size_t>(layout.align), placement);
      if (!memory.ok())
        return std::move(memory).take_status().with_context("tensor " + layout.name);
      buffer = *std::move(memory);
      device.label_memory(buffer.data(), layout.bytes(),
                          {layout.name, static_cast<std::size_t>(size_in_bytes(layout.dtype))});
    }
    tensors.pointers_.push_back(buffer.data());
  }
  return tensors;
}

void ProblemTensors::set_content(std::size_t tensor, Bytes image) {
  contents_[tensor] = {std::make_shared<const Bytes>(std::move(image)), {}};
}

void ProblemTensors::set_generator(std::size_t tensor, Generator generate) {
  contents_[tensor] = {nullptr, std::move(generate)};
}

void ProblemTensors::share_content(std::size_t tensor, const ProblemTensors& other,
                                   std::size_t of_other) {
  contents_[tensor] = other.contents_[of_other];
}

Result<std::shared_ptr<const Bytes>> ProblemTensors::content(std::size_t tensor) const {
  const Content& content = contents_[tensor];
  if (content.image != nullptr) return content.image;
  Bytes image((*layouts_)[tensor].bytes());
  if (content.generate && !image.empty()) {
    MGTUNE_ASSIGN(const Buffer memory, Buffer::allocate(*device_, image.size()));
    MGTUNE_TRY(content.generate(memory.data()));
    MGTUNE_TRY(device_->copy_to_host(image.data(), memory.data(), image.size()));
  }
  return std::make_shared<const Bytes>(std::move(image));
}

Status ProblemTensors::keep_images() {
  for (std::size_t i = 0; i < contents_.size(); ++i) {
    if (!contents_[i].generate) continue;
    MGTUNE_ASSIGN(contents_[i].image, content(i));
  }
  return {};
}

bool is_untouched(const TensorLayout& layout, const Bytes& image) {
  return layout.role == Role::out && image == Bytes(image.size(), poison_byte(layout.dtype));
}

Status ProblemTensors::prepare() { return prepare(contents_, true); }

Status ProblemTensors::prepare_outputs() { return prepare(contents_, false); }

Status ProblemTensors::prepare_as(const ProblemTensors& other) {
  return prepare(other.contents_, true);
}

// If `is_fresh` is false, tensors with Role::in and guard bands still have their content, so they
// are not written again.
Status ProblemTensors::prepare(const std::vector<Content>& contents, bool is_fresh) {
  for (std::size_t i = 0; i < layouts_->size(); ++i) {
    const TensorLayout& layout = (*layouts_)[i];
    if (!layout.present) continue;
    if (layout.bytes() > 0 && layout.role == Role::out) {
      MGTUNE_TRY(
          device_->fill_bytes(pointers_[i], poison_byte(layout.dtype), layout.bytes(), nullptr));
      device_->mark_unwritten(pointers_[i], layout.bytes());
    } else if (layout.bytes() > 0 && (is_fresh || layout.role == Role::inout)) {
      MGTUNE_TRY(write(i, contents[i]));
    }
    if (is_fresh) MGTUNE_TRY(buffers_[i].write_guards());
  }
  return device_->synchronize(nullptr);
}

Status ProblemTensors::write(std::size_t tensor, const Content& content) {
  if (content.image == nullptr) {
    return content.generate ? content.generate(pointers_[tensor])
                            : internal_error((*layouts_)[tensor].name + " has no content");
  }
  return device_->copy_to_device(pointers_[tensor], content.image->data(), content.image->size());
}

Result<Bytes> ProblemTensors::read(std::size_t tensor) const {
  Bytes image((*layouts_)[tensor].bytes());
  if (image.empty()) return image;
  MGTUNE_TRY(device_->copy_to_host(image.data(), pointers_[tensor], image.size()));
  return image;
}

Result<std::vector<Bytes>> ProblemTensors::read_outputs() const {
  std::vector<Bytes> outputs(layouts_->size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!(*layouts_)[i].is_output()) continue;
    MGTUNE_ASSIGN(outputs[i], read(i));
  }
  return outputs;
}

Result<std::string> ProblemTensors::damage_of(std::size_t tensor, const Bytes& output) const {
  const TensorLayout& layout = (*layouts_)[tensor];
  MGTUNE_ASSIGN(std::string outside, buffers_[tensor].damage());
  if (!outside.empty()) return outside;
  if (layout.is_output()) {
    const std::optional<std::size_t> padding = changed_padding(layout, output);
    return padding ? "the padding between its strides was written, at " +
                         name_of_offset(layout, *padding)
                   : std::string();
  }
  MGTUNE_ASSIGN(const Bytes image, read(tensor));
  MGTUNE_ASSIGN(const std::shared_ptr<const Bytes> content, this->content(tensor));
  if (image == *content) return std::string();  // memcmp is many times faster than mismatch
  const auto now = std::ranges::mismatch(image, *content).in1;
  const auto place = static_cast<std::size_t>(now - image.begin());
  const auto size = static_cast<std::size_t>(size_in_bytes(layout.dtype));
  return "an input was changed, first at " + name_of_offset(layout, place / size);
}

std::vector<GuardedBuffer::Band> ProblemTensors::guard_bands() const {
  std::vector<GuardedBuffer::Band> bands;
  for (const GuardedBuffer& buffer : buffers_) {
    const std::vector<GuardedBuffer::Band> of_buffer = buffer.bands();
    bands.insert(bands.end(), of_buffer.begin(), of_buffer.end());
  }
  return bands;
}

Result<std::string> ProblemTensors::damage(const std::vector<Bytes>& outputs) const {
  for (std::size_t i = 0; i < layouts_->size(); ++i) {
    if (!(*layouts_)[i].present) continue;
    MGTUNE_ASSIGN(const std::string what, damage_of(i, outputs[i]));
    if (!what.empty()) return (*layouts_)[i].name + ": " + what;
  }
  return std::string();
}

Status TimedSets::provide(std::int64_t sets, ProblemTensors& first) {
  // A launch changes an inout tensor. After many launches its values might overflow.
  const bool refresh = std::ranges::any_of(
      layouts_, [](const TensorLayout& layout) { return layout.role == Role::inout; });
  if (refresh) {
    MGTUNE_TRY(first.prepare());
    for (ProblemTensors& set : sets_) MGTUNE_TRY(set.prepare_as(first));
  }
  while (static_cast<std::int64_t>(sets_.size()) < sets) {
    MGTUNE_ASSIGN(ProblemTensors set,
                  ProblemTensors::allocate(device_, layouts_, Placement::exact));
    MGTUNE_TRY(set.prepare_as(first));
    sets_.push_back(std::move(set));
  }
  return {};
}

}  // namespace mgtune
