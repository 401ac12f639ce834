// Lets a session continue a text, token by token.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "generate/session.h"
#include "tokenizer/tokenizer.h"

namespace mgtune::engine {

struct GenerateOptions {
  std::uint32_t tokens = 64;  // how many new tokens at most
  float temperature = 0;      // above 0: the session must have been made with `sample`
  float top_p = 1;
  std::uint64_t seed = 1;
  std::vector<std::int32_t> end_tokens;  // the text ends before any of these
};

struct Generated {
  std::vector<std::int32_t> tokens;  // the new ones, without the one that ended the text
  double seconds = 0;                // from the last token of the prompt to the last new one
};

// Feeds the prompt and then the session's own tokens, from position 0 on. The session must have one
// sequence. `on_text` gets the bytes of each new token. invalid_argument if prompt and new tokens
// do not fit into the caches. corrupt if the logits of the first or of the last new token are not
// finite.
Result<Generated> generate(Session& session, const Tokenizer& tokenizer,
                           std::span<const std::int32_t> prompt, const GenerateOptions& options,
                           const std::function<void(std::string_view)>& on_text);

}  // namespace mgtune::engine
