#include "generate/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace mgtune::engine {
namespace {

// SplitMix64, so that a seed gives the same text with every standard library.
class UniformNumbers {
 public:
  explicit UniformNumbers(std::uint64_t seed) : state_(seed) {}

  float next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t bits = state_;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
    bits ^= bits >> 31;
    return static_cast<float>(bits >> 40) * 0x1p-24F;
  }

 private:
  std::uint64_t state_;
};

Status check_room(const Session& session, std::size_t prompt, const GenerateOptions& options) {
  if (prompt == 0) return invalid_argument("the prompt has no tokens");
  // The last new token is not fed again, so it needs no room.
  const std::size_t needed = prompt + options.tokens - std::min<std::size_t>(options.tokens, 1);
  if (needed <= session.capacity()) return {};
  return invalid_argument(fmt::format(
      "the prompt has {} tokens, and {} more are asked for, but the caches have room for {}",
      prompt, options.tokens, session.capacity()));
}

// The chosen token does not show a NaN, because the choice ignores NaN. A NaN in a cache stays
// there and gets into all later logits, so checking the first and the last new token is enough.
Status expect_finite(Session& session) {
  MGTUNE_ASSIGN(const std::vector<float> logits, session.logits(0));
  if (std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); })) return {};
  return corrupt(
      fmt::format("the logits before position {} are not finite: `mgengine verify --model PATH` "
                  "says more",
                  session.position()));
}

}  // namespace

Result<Generated> generate(Session& session, const Tokenizer& tokenizer,
                           std::span<const std::int32_t> prompt, const GenerateOptions& options,
                           const std::function<void(std::string_view)>& on_text) {
  using Clock = std::chrono::steady_clock;
  MGTUNE_TRY(check_room(session, prompt.size(), options));
  MGTUNE_TRY(session.set_position(0));
  UniformNumbers random(options.seed);
  Generated result;
  std::int32_t token = prompt[0];
  Clock::time_point begin = Clock::now();
  for (std::size_t i = 0; i + 1 < prompt.size() + options.tokens; ++i) {
    if (i + 1 == prompt.size()) begin = Clock::now();
    if (options.temperature > 0) {
      const Sampling sampling = {options.temperature, options.top_p, random.next()};
      MGTUNE_TRY(session.set_sampling(std::span(&sampling, 1)));
    }
    MGTUNE_TRY(session.step(std::span(&token, 1)));
    const std::int32_t previous = token;
    if (i + 1 < prompt.size()) {
      token = prompt[i + 1];
      continue;
    }
    if (i + 1 == prompt.size()) MGTUNE_TRY(expect_finite(session));
    MGTUNE_ASSIGN(const std::vector<std::int32_t> next, session.next_tokens());
    token = next[0];
    if (std::ranges::find(options.end_tokens, token) != options.end_tokens.end()) break;
    result.tokens.push_back(token);
    on_text(tokenizer.decode(previous, token));
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (options.tokens > 0) MGTUNE_TRY(expect_finite(session));
  return result;
}

}  // namespace mgtune::engine
