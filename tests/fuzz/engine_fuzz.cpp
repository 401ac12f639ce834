// Files of strangers that the engine reads: programs, weights, tokenizers and configs. Each input
// is tried as all of them. A program that the validator accepts must be the same after writing and
// reading it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "model/model_config.h"
#include "program/binary_form.h"
#include "program/text_form.h"
#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/llama2c_tokenizer.h"
#include "validate/validate.h"
#include "weights/llama2c_file.h"
#include "weights/safetensors.h"

namespace mgtune::engine {
namespace {

void check_program(const Result<Program>& program) {
  if (!program.ok() || !validate(*program).ok()) return;
  const Result<Program> from_text = program_from_text(program_text(*program));
  const Result<Program> from_bytes = program_from_bytes(program_bytes(*program));
  if (!from_text.ok() || *from_text != *program) std::abort();
  if (!from_bytes.ok() || *from_bytes != *program) std::abort();
}

void check_tokenizer(const Result<std::unique_ptr<Tokenizer>>& tokenizer) {
  if (!tokenizer.ok()) return;
  const auto tokens = (*tokenizer)->encode("It's 1984,\n\n \xC3\xA9\xFF\xF0\x9F\x99\x82 <|x|>");
  if (!tokens.ok()) return;
  for (const std::int32_t token : *tokens) {
    if (token < 0 || static_cast<std::uint32_t>(token) >= (*tokenizer)->size()) std::abort();
    static_cast<void>((*tokenizer)->decode(1, token));
  }
}

}  // namespace
}  // namespace mgtune::engine

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace mgtune::engine;
  const std::string_view input(reinterpret_cast<const char*>(data), bytes);
  check_program(program_from_bytes(input));
  check_program(program_from_text(input));
  check_tokenizer(parse_bpe_tokenizer("tokenizer.json", input));
  check_tokenizer(parse_llama2c_tokenizer("tok.bin", input, 512));
  static_cast<void>(parse_safetensors("model.safetensors", input));
  static_cast<void>(parse_llama2c("model.bin", input));
  static_cast<void>(parse_model_config("config.json", input));
  return 0;
}
