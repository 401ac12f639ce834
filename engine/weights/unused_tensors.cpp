#include "weights/unused_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/text.h"

namespace mgtune::engine {
namespace {

// Frequencies of a rotary embedding, and the masks of GPT-2's attention.
constexpr std::array<std::string_view, 3> kTables = {"self_attn.rotary_emb.inv_freq", "attn.bias",
                                                     "attn.masked_bias"};

std::string_view without_prefix(std::string_view name) {
  for (const std::string_view prefix : kTensorPrefixes) {
    if (!prefix.empty() && name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

// "layers.3.mlp.up_proj.bias" is piece "mlp.up_proj.bias" of layer 3.
struct LayerPiece {
  std::uint32_t layer = 0;
  std::string_view piece;
};

std::optional<LayerPiece> layer_piece(std::string_view name, NameScheme names) {
  const std::string_view begin = names == NameScheme::gpt2 ? "h." : "layers.";
  if (!name.starts_with(begin)) return std::nullopt;
  name.remove_prefix(begin.size());
  const std::size_t dot = name.find('.');
  const std::optional<std::uint32_t> layer = parse_number<std::uint32_t>(name.substr(0, dot));
  if (!layer || dot == name.npos) return std::nullopt;
  return LayerPiece{*layer, name.substr(dot + 1)};
}

// Why a model with this config has no such piece.
std::string reason(const LayerPiece& piece, const ModelConfig& config) {
  if (piece.layer >= config.layers) {
    return fmt::format("config.json says {} {}", size_names(config.names).layers, config.layers);
  }
  if (config.family == "llama" && piece.piece.ends_with("_proj.bias")) {
    return fmt::format("config.json says {} false",
                       piece.piece.starts_with("mlp.") ? "mlp_bias" : "attention_bias");
  }
  return fmt::format("{} models have no such tensor", config.family);
}

}  // namespace

Status refuse_unused_tensors(const std::vector<WeightRecipe>& recipes, const ModelConfig& config,
                             const TensorSet& set) {
  std::set<std::string_view> used;
  for (const WeightRecipe& recipe : recipes) {
    for (const WeightPart& part : recipe.parts) used.insert(part.tensor);
  }
  for (const auto& [name, tensor] : set.tensors) {
    const std::string_view bare = without_prefix(name);
    const std::optional<LayerPiece> piece = layer_piece(bare, config.names);
    if (!piece || used.contains(bare)) continue;
    const bool is_table = std::ranges::find(kTables, piece->piece) != kTables.end();
    if (is_table && piece->layer < config.layers) continue;
    return corrupt(fmt::format("{}: the tensor {} is not used: {}", set.file_of(tensor), name,
                               reason(*piece, config)));
  }
  return {};
}

}  // namespace mgtune::engine
