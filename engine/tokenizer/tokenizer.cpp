#include "tokenizer/tokenizer.h"

#include <fmt/format.h>

#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/llama2c_tokenizer.h"
#include "weights/model_file.h"

namespace mgtune::engine {

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& path,
                                                  std::uint32_t vocabulary) {
  const bool is_json = path.ends_with(".json");
  if (!is_json && !path.ends_with(".bin")) {
    return invalid_argument(
        fmt::format("{}: a tokenizer is tokenizer.json, or a .bin file of llama2.c", path));
  }
  MGTUNE_ASSIGN(const std::string content, read_model_file(path));
  MGTUNE_ASSIGN(std::unique_ptr<Tokenizer> tokenizer,
                is_json ? parse_bpe_tokenizer(path, content)
                        : parse_llama2c_tokenizer(path, content, vocabulary));
  // A model may have more rows than the tokenizer has tokens, but not fewer.
  if (tokenizer->size() > vocabulary) {
    return corrupt(fmt::format("{}: it has {} tokens, but the model has {}", path,
                               tokenizer->size(), vocabulary));
  }
  return tokenizer;
}

}  // namespace mgtune::engine
