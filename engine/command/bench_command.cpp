#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>

#include "bench/token_bench.h"
#include "command/model_arguments.h"
#include "json/json.h"
#include "program/operation.h"

namespace mgtune::engine {
namespace {

Json json_of(const TokenTime& time, double bandwidth) {
  Json json = {{"position", time.position},
               {"us_per_token", time.seconds * 1e6},
               {"bytes", time.bytes},
               {"gb_per_s", static_cast<double>(time.bytes) / time.seconds / 1e9}};
  json["percent_of_bandwidth"] =
      bandwidth > 0 ? Json(static_cast<double>(time.bytes) / time.seconds / bandwidth / 1e7)
                    : Json();
  json["instructions"] = Json::array(time.instructions, [](const InstructionTime& instruction) {
    return Json{{"instruction", instruction.text},
                {"count", instruction.count},
                {"us", instruction.seconds * 1e6},
                {"bytes", instruction.bytes}};
  });
  return json;
}

class BenchCommand final : public Command {
 public:
  std::string details() const override {
    return "Examples:\n"
           "  mgengine bench --model llama-3.2-1b --random-weights --bandwidth 4300\n"
           "  mgengine bench --model stories260K/ --positions 1,128,511 --json\n"
           "  mgengine bench --model Llama-3.2-1B/config.json --random-weights --way graph --run "
           "16 "
           "--steps 20\n"
           "\n"
           "A token must read all weights and the keys and values before it: these are the bytes.\n"
           "Times of the way reference are those of a host that checks results, not of a fast "
           "one.\n"
           "A run of several tokens has the host's part of a step once. The time of an instruction "
           "by the\n"
           "way steps ends when the host sees that it has ended. By the way graph it is how much "
           "longer\n"
           "the graph takes with this instruction than without it.";
  }

  void declare(ArgumentList& arguments) override {
    model_.declare(arguments, "bf16");
    arguments.flag("--random-weights", has_random_weights_, kRandomWeightsHelp);
    arguments.value("--positions", positions_, "LIST", "Positions to measure at");
    arguments.integer("--batch", rows_, 1, kMaxRows, "How many sequences");
    arguments.integer("--steps", steps_, 1, 1000, "Timed runs per position; the median counts");
    arguments.integer("--run", run_, 1, 1024,
                      "Tokens of a run, one after the other up to the position or from it on");
    arguments.number("--bandwidth", bandwidth_, 0, 1e6,
                     "GB/s that the memory can do, for the percentages (0: print none)");
    arguments.flag("--json", is_json_, "Print JSON");
  }

  Result<int> run() override {
    MGTUNE_ASSIGN(const std::vector<std::uint32_t> positions, parse_positions(positions_));
    SessionOptions options;
    options.rows = rows_;
    options.capacity = std::ranges::max(positions) + 1;
    MGTUNE_ASSIGN(Session session, model_.session(options, has_random_weights_));
    std::vector<TokenTime> times;
    for (const std::uint32_t position : positions) {
      MGTUNE_ASSIGN(TokenTime time, measure_token(session, position, steps_, run_));
      times.push_back(std::move(time));
    }
    is_json_ ? print_json(times) : print_table(times);
    return 0;
  }

 private:
  void print_json(const std::vector<TokenTime>& times) const {
    const Json document = {{"model", model_.model},
                           {"way", model_.way},
                           {"dtype", model_.dtype},
                           {"batch", rows_},
                           {"steps", steps_},
                           {"run", run_},
                           {"bandwidth_gb_per_s", bandwidth_},
                           {"positions", Json::array(times, [&](const TokenTime& time) {
                              return json_of(time, bandwidth_);
                            })}};
    std::cout << document.document_text();
  }

  void print_table(const std::vector<TokenTime>& times) const {
    std::string text =
        fmt::format("way {}, {}, {} sequence{}, median of {} runs of {} token{}\n\n", model_.way,
                    model_.dtype, rows_, rows_ == 1 ? "" : "s", steps_, run_, run_ == 1 ? "" : "s");
    const auto out = std::back_inserter(text);
    fmt::format_to(out, "{:>9} {:>13} {:>11} {:>9} {:>14}\n", "position", "us per token", "MB read",
                   "GB/s", "of bandwidth");
    for (const TokenTime& time : times) {
      const double rate = static_cast<double>(time.bytes) / time.seconds / 1e9;
      const std::string percent =
          bandwidth_ > 0 ? fmt::format("{:.1f} %", 100 * rate / bandwidth_) : "-";
      fmt::format_to(out, "{:>9} {:>13.1f} {:>11.2f} {:>9.2f} {:>14}\n", time.position,
                     time.seconds * 1e6, static_cast<double>(time.bytes) / 1e6, rate, percent);
    }
    const TokenTime& last = times.back();
    fmt::format_to(out, "\nInstructions at position {}:\n{:<32} {:>6} {:>12} {:>11}\n",
                   last.position, "instruction", "count", "us in all", "MB read");
    for (const InstructionTime& instruction : last.instructions) {
      fmt::format_to(out, "{:<32} {:>6} {:>12.1f} {:>11.2f}\n", instruction.text, instruction.count,
                     instruction.seconds * 1e6, static_cast<double>(instruction.bytes) / 1e6);
    }
    std::cout << text;
  }

  ModelArguments model_;
  std::string positions_ = "1,128,512,2047";
  std::uint32_t rows_ = 1;
  std::uint32_t steps_ = 3;
  std::uint32_t run_ = 1;
  double bandwidth_ = 0;
  bool has_random_weights_ = false;
  bool is_json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_command() { return std::make_unique<BenchCommand>(); }

}  // namespace mgtune::engine
