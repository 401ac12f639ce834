// Byte-level BPE from a tokenizer.json of Hugging Face: GPT-2, Llama 3, Qwen2.

#pragma once

#include <memory>

#include "core/status.h"
#include "tokenizer/tokenizer.h"

namespace mgtune::engine {

// `file` is the name for messages. corrupt, with file and field, if the content is wrong;
// unsupported if it asks for more than byte-level BPE.
Result<std::unique_ptr<Tokenizer>> parse_bpe_tokenizer(const std::string& file,
                                                       std::string_view content);

}  // namespace mgtune::engine
