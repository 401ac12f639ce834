// The tokenizer of llama2.c: BPE by the scores of the tokens, as SentencePiece does it.

#pragma once

#include <memory>

#include "core/status.h"
#include "tokenizer/tokenizer.h"

namespace mgtune::engine {

// `file` is the name for messages. corrupt, with the token, if the content is no such tokenizer
// with `vocabulary` tokens.
Result<std::unique_ptr<Tokenizer>> parse_llama2c_tokenizer(const std::string& file,
                                                           std::string_view content,
                                                           std::uint32_t vocabulary);

}  // namespace mgtune::engine
