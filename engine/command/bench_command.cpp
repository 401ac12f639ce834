#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>

#include "bench/token_bench.h"
#include "command/model_arguments.h"
#include "core/text.h"
#include "generate/model_source.h"
#include "json/json.h"
#include "program/operation.h"

namespace mgtune::engine {
namespace {

// Parses the value of --batch, for example "1,2,4,8". invalid_argument, with the word, if a word is
// not a number of sequences.
Result<std::vector<std::uint32_t>> parse_batches(const std::string& list) {
  std::vector<std::uint32_t> batches;
  for (const std::string& word : split_list(list)) {
    const auto rows = parse_number<std::uint32_t>(word);
    if (!rows || *rows < 1 || *rows > kMaxRows) {
      return invalid_argument(
          fmt::format("--batch {}: '{}' is not an integer from 1 to {}", list, word, kMaxRows));
    }
    batches.push_back(*rows);
  }
  return batches;
}

// The time of a step of `rows` sequences at a position.
struct BatchTime {
  std::uint32_t rows = 1;
  TokenTime time;

  double tokens_per_second() const { return rows / time.seconds; }
  double gb_per_second() const { return static_cast<double>(time.bytes) / time.seconds / 1e9; }
};

Json json_of(const BatchTime& measured, double bandwidth) {
  const TokenTime& time = measured.time;
  Json json = {{"batch", measured.rows},
               {"position", time.position},
               {"run", time.run},
               {"us_per_token", time.seconds * 1e6},
               {"tokens_per_s", measured.tokens_per_second()},
               {"bytes", time.bytes},
               {"gb_per_s", measured.gb_per_second()}};
  json["percent_of_bandwidth"] =
      bandwidth > 0 ? Json(100 * measured.gb_per_second() / bandwidth) : Json();
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
           "  mgengine bench --model llama-3.2-1b --random-weights --batch 1,2,4,8 --positions "
           "128,2047\n"
           "  mgengine bench --model Llama-3.2-1B/config.json --random-weights --way graph\n"
           "                 --run 16 --steps 20\n"
           "\n"
           "A step computes the next token of each sequence of the batch. Its time is the column\n"
           "us per token, also for several sequences. It must read all weights and the keys and\n"
           "values before it: these are the bytes. Times of the way reference are those of a host\n"
           "that checks results, not of a fast one.\n"
           "The host starts a run of --run tokens once, so its cost is shared by all of them.\n"
           "With --way steps, the time of an instruction ends when the host sees that it has\n"
           "ended. With --way graph, it is how much longer the graph takes with this instruction\n"
           "than without it.";
  }

  void declare(ArgumentList& arguments) override {
    model_.declare(arguments, "bf16", kModelOrConfigHelp);
    arguments.flag("--random-weights", has_random_weights_, kRandomWeightsHelp);
    arguments.value("--positions", positions_, "LIST",
                    "Positions to measure at (default: 1,128,512,2047, as far as the model goes)");
    arguments.value("--batch", batches_, "LIST",
                    "How many sequences: 1 to 8, or a list such as 1,2,4,8 for one table of all");
    arguments.integer("--steps", steps_, 1, 1000, "Timed runs per position; the median counts");
    arguments.integer(
        "--run", run_, 1, 1024,
        "Tokens of a run, one after the other up to the position or from it on; fewer if "
        "the program of the position serves fewer");
    arguments.number("--bandwidth", bandwidth_, 0, 1e6,
                     "GB/s that the memory can do, for the percentages (0: print none)");
    arguments.flag("--json", is_json_, "Print JSON");
  }

  Result<int> run() override {
    MGTUNE_ASSIGN(const std::vector<std::uint32_t> positions, positions());
    MGTUNE_ASSIGN(const std::vector<std::uint32_t> batches, parse_batches(batches_));
    std::vector<BatchTime> times;
    for (const std::uint32_t rows : batches) {
      SessionOptions options;
      options.rows = rows;
      options.capacity = std::ranges::max(positions) + 1;
      MGTUNE_ASSIGN(Session session, model_.session(options, has_random_weights_));
      for (const std::uint32_t position : positions) {
        MGTUNE_ASSIGN(TokenTime time, measure_token(session, position, steps_, run_));
        times.push_back({rows, std::move(time)});
      }
    }
    note_runs(times);
    if (is_json_) {
      print_json(batches, times);
    } else if (batches.size() == 1) {
      print_table(times);
    } else {
      print_batches(times);
    }
    return 0;
  }

 private:
  Result<std::vector<std::uint32_t>> positions() const {
    if (!positions_.empty()) return parse_positions(positions_);
    MGTUNE_ASSIGN(const ModelConfig config, open_config(model_.model));
    return positions_below(config.positions, {1, 128, 512, 2047});
  }

  // Notes the positions whose program serves fewer tokens than a run should have.
  void note_runs(const std::vector<BatchTime>& times) {
    for (const BatchTime& measured : times) {
      const TokenTime& time = measured.time;
      if (time.run != run_) shorter_runs_[time.position] = time.run;
    }
  }

  void print_json(const std::vector<std::uint32_t>& batches,
                  const std::vector<BatchTime>& times) const {
    const Json document = {{"model", model_.model},
                           {"way", model_.way},
                           {"dtype", model_.dtype},
                           {"batches", batches},
                           {"steps", steps_},
                           {"run", run_},
                           {"bandwidth_gb_per_s", bandwidth_},
                           {"positions", Json::array(times, [&](const BatchTime& time) {
                              return json_of(time, bandwidth_);
                            })}};
    std::cout << document.document_text();
  }

  std::string heading(const std::string& sequences) const {
    std::string shorter;
    for (const auto& [position, run] : shorter_runs_) {
      shorter +=
          fmt::format("{}{} at position {}", shorter.empty() ? ", but " : ", ", run, position);
    }
    return fmt::format("way {}, {}, {}, median of {} runs of {} token{}{}\n\n", model_.way,
                       model_.dtype, sequences, steps_, run_, run_ == 1 ? "" : "s", shorter);
  }

  std::string percent(const BatchTime& time) const {
    return bandwidth_ > 0 ? fmt::format("{:.1f} %", 100 * time.gb_per_second() / bandwidth_) : "-";
  }

  void print_batches(const std::vector<BatchTime>& times) const {
    std::string text = heading("batches of " + batches_);
    const auto out = std::back_inserter(text);
    fmt::format_to(out, "{:>5} {:>9} {:>13} {:>9} {:>11} {:>9} {:>14}\n", "batch", "position",
                   "us per token", "tokens/s", "MB read", "GB/s", "of bandwidth");
    for (const BatchTime& measured : times) {
      const TokenTime& time = measured.time;
      fmt::format_to(out, "{:>5} {:>9} {:>13.1f} {:>9.1f} {:>11.2f} {:>9.2f} {:>14}\n",
                     measured.rows, time.position, time.seconds * 1e6, measured.tokens_per_second(),
                     static_cast<double>(time.bytes) / 1e6, measured.gb_per_second(),
                     percent(measured));
    }
    std::cout << text;
  }

  void print_table(const std::vector<BatchTime>& times) const {
    const std::uint32_t rows = times.front().rows;
    std::string text = heading(fmt::format("{} sequence{}", rows, rows == 1 ? "" : "s"));
    const auto out = std::back_inserter(text);
    fmt::format_to(out, "{:>9} {:>13} {:>11} {:>9} {:>14}\n", "position", "us per token", "MB read",
                   "GB/s", "of bandwidth");
    for (const BatchTime& measured : times) {
      const TokenTime& time = measured.time;
      fmt::format_to(out, "{:>9} {:>13.1f} {:>11.2f} {:>9.2f} {:>14}\n", time.position,
                     time.seconds * 1e6, static_cast<double>(time.bytes) / 1e6,
                     measured.gb_per_second(), percent(measured));
    }
    const TokenTime& last = times.back().time;
    fmt::format_to(out, "\nInstructions at position {}:\n{:<32} {:>6} {:>12} {:>11}\n",
                   last.position, "instruction", "count", "us in all", "MB read");
    for (const InstructionTime& instruction : last.instructions) {
      fmt::format_to(out, "{:<32} {:>6} {:>12.1f} {:>11.2f}\n", instruction.text, instruction.count,
                     instruction.seconds * 1e6, static_cast<double>(instruction.bytes) / 1e6);
    }
    std::cout << text;
  }

  ModelArguments model_;
  std::string positions_;
  std::map<std::uint32_t, std::uint32_t> shorter_runs_;  // tokens per run, by position
  std::string batches_ = "1";
  std::uint32_t steps_ = 3;
  std::uint32_t run_ = 1;
  double bandwidth_ = 0;
  bool has_random_weights_ = false;
  bool is_json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_command() { return std::make_unique<BenchCommand>(); }

}  // namespace mgtune::engine
