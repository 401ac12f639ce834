#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <system_error>

#include "command/model_arguments.h"
#include "core/text.h"
#include "database/default_path.h"
#include "device/device_lock.h"
#include "device/registry.h"
#include "generate/model_source.h"
#include "json/json.h"
#include "program/operation.h"
#include "source/tuned_source.h"
#include "store/store.h"
#include "tune/tune_model.h"

namespace mgtune::engine {
namespace {

double us(double seconds) { return seconds * 1e6; }

std::string gain_text(const TokenRatio& ratio) {
  return fmt::format("{:+.2f} % ({:+.2f} to {:+.2f})", 100 * (ratio.median - 1),
                     100 * (ratio.low - 1), 100 * (ratio.high - 1));
}

std::string trial_text(const TunedKernel& kernel, const TokenTrial& trial) {
  const std::string result =
      trial.failure.empty() ? fmt::format("{:.1f} us a token against {:.1f}: {}{}",
                                          us(trial.seconds), us(trial.against_seconds),
                                          gain_text(trial.ratio), trial.is_faster ? ", faster" : "")
                            : "does not run: " + trial.failure;
  return fmt::format("{} {}: {}: {}\n", kernel.op, kernel.problem, trial.variant, result);
}

Json trial_json(const TokenTrial& trial) {
  return {{"variant", trial.variant},
          {"against", trial.against},
          {"rounds", trial.rounds},
          {"us_per_token", us(trial.seconds)},
          {"against_us_per_token", us(trial.against_seconds)},
          {"ratio", trial.ratio.median},
          {"ratio_low", trial.ratio.low},
          {"ratio_high", trial.ratio.high},
          {"faster", trial.is_faster},
          {"failure", trial.failure}};
}

Json kernel_json(const TunedKernel& kernel) {
  return {{"operator", kernel.op},
          {"problem", kernel.problem},
          {"count", kernel.count},
          {"share", kernel.share},
          {"method", kernel.method},
          {"before", kernel.before},
          {"before_us", kernel.before_ns / 1e3},
          {"pick", kernel.decision.pick},
          {"pick_us", kernel.pick_ns / 1e3},
          {"trials", Json::array(kernel.decision.trials, trial_json)}};
}

class TuneCommand final : public Command {
 public:
  std::string details() const override {
    return "Examples:\n"
           "  mgtune sweep --model llama-3.2-1b --gpu 0        (runs this command too)\n"
           "  mgengine tune --model llama-3.2-1b --random-weights --positions 128,2047\n"
           "  mgengine tune --model Llama-3.2-1B/ --db results.db --candidates 16\n"
           "\n"
           "The fastest kernel alone is not always the fastest between the other kernels of a\n"
           "token. This command takes the kernels of the model that cost most first. It tries the\n"
           "variants that sweeps found fast in whole tokens, and keeps one if tokens get faster\n"
           "by more than the noise. Each pick is stored when it is decided, under the method\n"
           "'token', which programs prefer to all others until this command decides again. Tokens\n"
           "run as a graph, and on the cpu device step by step.";
  }

  void declare(ArgumentList& arguments) override {
    model_.declare_model(arguments, "bf16", kModelOrConfigHelp);
    arguments.flag("--random-weights", has_random_weights_, kRandomWeightsHelp);
    positions_.declare(arguments);
    arguments.integer("--capacity", positions_.capacity, 0, 1U << 30,
                      "Positions in the caches (0: up to the largest of --positions)");
    arguments.integer("--batch", rows_, 1, kMaxRows, "How many sequences");
    arguments.integer("--candidates", options_.candidates, 1, 1000,
                      "How many other variants of each kernel are tried at most, and again as many "
                      "that are near a better one");
    arguments.number("--within", within_, 0, 1e6,
                     "Percent that a candidate's launch alone may take longer than the fastest's");
    arguments.integer("--rounds", options_.rounds, kMinRounds, kMaxRounds,
                      "How often a candidate is compared with the variant before it");
    arguments.integer("--run", options_.run, 1, 1024, "Tokens of a run that is timed");
    arguments.value("--db", options_.database, "FILE",
                    "The results database, with the results of sweeps (default: $MGTUNE_DB, "
                    "otherwise the user's)");
    arguments.flag("--json", is_json_, "Print JSON");
  }

  Result<int> run() override {
    MGTUNE_ASSIGN(const ModelConfig config, open_config(model_.model));
    MGTUNE_ASSIGN(options_.positions, positions_.resolve(config));
    MGTUNE_TRY(find_database());
    MGTUNE_ASSIGN(const std::vector<DeviceInfo> devices, select_devices(model_.device));
    if (devices.size() != 1) {
      return invalid_argument(fmt::format("--device {} names {} devices; a model runs on one",
                                          model_.device, devices.size()));
    }
    // This comes before the model is loaded, so that a wrong --db costs no time.
    MGTUNE_TRY(expect_database());
    const DeviceInfo& device = devices.front();
    MGTUNE_ASSIGN(const DeviceLock lock,
                  DeviceLock::acquire(DeviceLock::default_directory(device.kind), device.id));
    model_.way = device.kind == DeviceKind::cpu ? "steps" : "graph";
    options_.command = command_text();
    options_.max_ratio = 1 + within_ / 100;
    SessionOptions options;
    options.rows = rows_;
    options.capacity = positions_.capacity;
    MGTUNE_ASSIGN(Session session, model_.session(options, has_random_weights_, options_.source));
    MGTUNE_ASSIGN(const ModelTuning tuning,
                  tune_model(session, device, options_,
                             [](const TunedKernel& kernel, const TokenTrial& trial) {
                               std::cerr << trial_text(kernel, trial) << std::flush;
                             }));
    is_json_ ? print_json(tuning) : print_table(tuning);
    return 0;
  }

 private:
  // The session must run the variants that programs run. Programs also read the installed tables,
  // unless they name a database that is not the user's own.
  Status find_database() {
    const Result<std::string> usual = default_database_path();
    if (options_.database.empty()) {
      MGTUNE_TRY(usual.status());
      options_.database = *usual;
    }
    std::error_code ignored;
    const bool is_usual = usual.ok() && only_source("").empty() &&
                          std::filesystem::equivalent(*usual, options_.database, ignored);
    options_.source = is_usual ? "" : options_.database;
    return {};
  }

  Status expect_database() const {
    Status status = Store::open(options_.database, Store::Mode::read_only).status();
    if (status.code() != StatusCode::not_found) return status;
    return {status.code(),
            fmt::format("{}: run mgtune sweep --model {} first, which also runs this "
                        "command",
                        status.message(), shell_word(model_.model))};
  }

  std::string command_text() const {
    std::string text =
        fmt::format("mgengine tune --model {} --dtype {} --positions {} --capacity {} --batch {}",
                    shell_word(model_.model), model_.dtype, fmt::join(options_.positions, ","),
                    positions_.capacity, rows_);
    if (has_random_weights_) text += " --random-weights";
    return text + fmt::format(" --candidates {} --within {} --rounds {} --run {}",
                              options_.candidates, within_, options_.rounds, options_.run);
  }

  void print_json(const ModelTuning& tuning) const {
    const TokenTuning& tokens = tuning.tokens;
    const Json document = {{"model", model_.model},
                           {"way", model_.way},
                           {"dtype", model_.dtype},
                           {"batch", rows_},
                           {"positions", options_.positions},
                           {"run", options_.run},
                           {"rounds", options_.rounds},
                           {"before_us_per_token", us(tokens.seconds_before)},
                           {"after_us_per_token", us(tokens.seconds_after)},
                           {"ratio", tokens.ratio.median},
                           {"ratio_low", tokens.ratio.low},
                           {"ratio_high", tokens.ratio.high},
                           {"picks", tuning.picks},
                           {"kernels", Json::array(tuning.kernels, kernel_json)}};
    std::cout << document.document_text();
  }

  void print_table(const ModelTuning& tuning) const {
    std::string text;
    const auto out = std::back_inserter(text);
    fmt::format_to(out, "way {}, {}, {} sequence{}, positions {}\n\n", model_.way, model_.dtype,
                   rows_, rows_ == 1 ? "" : "s", fmt::join(options_.positions, ", "));
    fmt::format_to(out, "{:>2} {:>9} {:>7} {:>6} {:>12} {:>10}  {}\n", "#", "per token", "share",
                   "tried", "us alone", "new", "kernel");
    for (std::size_t i = 0; i < tuning.kernels.size(); ++i) {
      const TunedKernel& kernel = tuning.kernels[i];
      const auto time = [](double ns) { return ns > 0 ? fmt::format("{:.2f}", ns / 1e3) : "-"; };
      fmt::format_to(out, "{:>2} {:>9} {:>6.1f}% {:>6} {:>12} {:>10}  {} {}\n", i + 1, kernel.count,
                     100 * kernel.share, kernel.decision.trials.size(), time(kernel.before_ns),
                     time(kernel.pick_ns), kernel.op, kernel.problem);
    }
    for (std::size_t i = 0; i < tuning.kernels.size(); ++i) {
      const TunedKernel& kernel = tuning.kernels[i];
      if (kernel.decision.pick == kernel.before) continue;
      fmt::format_to(out, "\n{} was {}\n{:{}} is  {}\n", i + 1, kernel.before, "",
                     std::to_string(i + 1).size(), kernel.decision.pick);
    }
    const auto unswept = std::ranges::count_if(
        tuning.kernels, [](const TunedKernel& kernel) { return kernel.method.empty(); });
    if (unswept > 0) {
      fmt::format_to(out, "\n{} kernel{} not swept here, so nothing was tried\n", unswept,
                     unswept == 1 ? " was" : "s were");
    }
    const TokenTuning& tokens = tuning.tokens;
    const bool has_tried = std::ranges::any_of(
        tuning.kernels, [](const TunedKernel& kernel) { return !kernel.decision.trials.empty(); });
    fmt::format_to(out, "\nus per token: {:.1f} ", us(tokens.seconds_before));
    if (!has_tried) {
      fmt::format_to(out, "(nothing was tried: no sweep has found another variant within {:g} %)\n",
                     within_);
    } else if (tokens.went_back) {
      fmt::format_to(out, "before; the new picks together are not faster ({}), so none is kept\n",
                     gain_text(tokens.ratio));
    } else {
      fmt::format_to(out, "before, {:.1f} now: {}\n", us(tokens.seconds_after),
                     gain_text(tokens.ratio));
    }
    fmt::format_to(out, "{} pick{} of the method token stored in {}\n", tuning.picks,
                   tuning.picks == 1 ? "" : "s", options_.database);
    std::cout << text;
  }

  ModelArguments model_;
  TuneOptions options_;
  TokenPositions positions_;
  std::uint32_t rows_ = 1;
  double within_ = 25;
  bool has_random_weights_ = false;
  bool is_json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tune_command() { return std::make_unique<TuneCommand>(); }

}  // namespace mgtune::engine
