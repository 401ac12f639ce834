// Tokenizer: turns texts into tokens and back. Immutable; any number of threads may use it.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace mgtune::engine {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Returns the tokens of the text, after the tokens that begin every text, if this tokenizer has
  // such tokens. unsupported for a text that it would split differently from the library that made
  // the tokenizer.
  virtual Result<std::vector<std::int32_t>> encode(std::string_view text) const = 0;

  // The bytes that the token adds to a text. `previous` is the token before it, or -1. Empty for a
  // special token. The bytes of one character may be in several tokens.
  virtual std::string decode(std::int32_t previous, std::int32_t token) const = 0;

  virtual std::uint32_t size() const = 0;  // tokens are below this
};

// The name of the file decides the format: tokenizer.json, or a .bin of llama2.c. `vocabulary` is
// that of the model, because the format of llama2.c does not have it.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& path,
                                                  std::uint32_t vocabulary);

}  // namespace mgtune::engine
