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

  // With the tokens that begin a text, if this tokenizer has them. unsupported for a text that it
  // would cut otherwise than the library that made it.
  virtual Result<std::vector<std::int32_t>> encode(std::string_view text) const = 0;

  // The bytes that the token adds to a text. `previous` is the token before it, or -1. Empty for a
  // special token. A character may have its bytes in several tokens.
  virtual std::string decode(std::int32_t previous, std::int32_t token) const = 0;

  virtual std::uint32_t size() const = 0;  // tokens are below this
};

// By the name of the file: tokenizer.json, or a .bin of llama2.c. `vocabulary` is the model's: the
// format of llama2.c does not have it.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& path,
                                                  std::uint32_t vocabulary);

}  // namespace mgtune::engine
