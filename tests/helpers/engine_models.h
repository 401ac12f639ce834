// The models of tests/engine, ready to run.

#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "generate/model_source.h"
#include "generate/session.h"
#include "tests/helpers/test_paths.h"
#include "weights/safetensors.h"

namespace mgtune::engine {

inline std::string model_path(const std::string& name) {
  return source_path("tests/engine/models/" + name);
}

// Of a result that must be there.
template <typename Value>
Value must(Result<Value> result) {
  if (!result.ok()) ADD_FAILURE() << result.status().message();
  return std::move(result).value();
}

inline Session test_session(const std::string& name, const SessionOptions& options) {
  const ModelSource source = must(open_model(model_path(name)));
  return must(Session::create(source.config, source.tensors, options));
}

// What PyTorch's transformers compute for a model: 2 sequences of tokens, and their logits.
struct ExpectedLogits {
  std::size_t tokens_each = 0;
  std::vector<std::int32_t> tokens;  // [2, tokens_each]
  std::vector<float> logits;         // [2, tokens_each, vocabulary]
};

inline ExpectedLogits expected_logits(const std::string& name) {
  const std::string path = model_path(name) + "/expected.safetensors";
  const MappedFile file = must(MappedFile::open(path));
  const TensorMap tensors = must(parse_safetensors(path, file.bytes()));
  ExpectedLogits expected;
  const TensorView& tokens = tensors.at("tokens");
  const TensorView& logits = tensors.at("logits");
  expected.tokens_each = tokens.shape[1];
  expected.tokens.resize(tokens.bytes.size() / sizeof(std::int32_t));
  std::memcpy(expected.tokens.data(), tokens.bytes.data(), tokens.bytes.size());
  expected.logits.resize(logits.bytes.size() / sizeof(float));
  std::memcpy(expected.logits.data(), logits.bytes.data(), logits.bytes.size());
  return expected;
}

// The largest difference between the session's logits and those of transformers, over all tokens.
// The session has two sequences.
inline double largest_difference(Session& session, const ExpectedLogits& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < expected.tokens_each; ++i) {
    const std::vector<std::int32_t> tokens = {expected.tokens[i],
                                              expected.tokens[expected.tokens_each + i]};
    const Status status = session.step(tokens);
    EXPECT_TRUE(status.ok()) << status.message();
    for (std::uint32_t row = 0; row < 2; ++row) {
      const std::vector<float> logits = must(session.logits(row));
      const float* const wanted =
          expected.logits.data() + (row * expected.tokens_each + i) * logits.size();
      for (std::size_t k = 0; k < logits.size(); ++k) {
        const double difference = std::abs(double{logits[k]} - wanted[k]);
        if (!(difference <= largest)) largest = difference;  // also NaN
      }
    }
  }
  return largest;
}

}  // namespace mgtune::engine
