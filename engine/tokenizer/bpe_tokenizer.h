// Byte-level BPE as tokenizer.json of Hugging Face has it: GPT-2, Llama 3, Qwen2.

#pragma once

#include <memory>

#include "core/status.h"
#include "tokenizer/tokenizer.h"

namespace mgtune::engine {

// `file` is the name for messages. corrupt, with file and field, for a content that lies;
// unsupported for one that asks for more than byte-level BPE.
Result<std::unique_ptr<Tokenizer>> parse_bpe_tokenizer(const std::string& file,
                                                       std::string_view content);

}  // namespace mgtune::engine
