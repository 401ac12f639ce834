#include <fmt/format.h>

#include <iostream>

#include "command/model_arguments.h"
#include "core/text.h"
#include "generate/model_source.h"
#include "json/json.h"
#include "program/binary_form.h"
#include "program/operation.h"
#include "program/text_form.h"
#include "system/file_system.h"
#include "tune/model_kernels.h"
#include "validate/validate.h"

namespace mgtune::engine {
namespace {

class ShowCommand final : public Command {
 public:
  std::string details() const override {
    return "Examples:\n"
           "  mgengine show program --model llama-3.2-1b --capacity 2048\n"
           "  mgengine show program --model gpt2/ --position 1023 --output gpt2.program\n"
           "  mgengine show program --file gpt2.program\n"
           "  mgengine show kernels --model llama-3.2-1b --positions 128,2047 --json\n"
           "  mgengine show kernels --model gpt2/ --output gpt2.jsonl && "
           "mgtune sweep --shapes gpt2.jsonl\n"
           "\n"
           "The form of programs is described in engine/README.md. The kernels of a model are the\n"
           "problems that its programs launch, those that move most bytes per token first.";
  }

  void declare(ArgumentList& arguments) override {
    arguments.word("WHAT", what_, {"program", "kernels"}, "What to print: program or kernels");
    arguments.value("--model", model_, "PATH", "Folder, config.json or llama2.c file of the model");
    arguments.value("--file", file_, "FILE", "A program in its binary form, instead of a model");
    arguments.choice("--dtype", dtype_, {"f32", "bf16", "f16"}, "DTYPE",
                     "Of weights, activations and caches: f32, bf16 or f16");
    arguments.integer("--batch", rows_, 1, kMaxRows, "How many sequences");
    token_positions_.declare(arguments);
    arguments.integer("--capacity", token_positions_.capacity, 0, 1U << 30,
                      "Positions in the caches (0: all of the model; for kernels: up to the "
                      "largest of --positions)");
    arguments.value("--position", position_, "N",
                    "Print the program of the bucket that serves this position, or its kernels "
                    "(default: 0; for kernels --positions)");
    arguments.integer("--queues", queues_, 1, 1024, "Queues that run at the same time");
    arguments.integer("--workers", workers_, 1, 1U << 20,
                      "Into how many parts attention may be split, for example the SMs of the GPU");
    arguments.value("--output", output_, "FILE",
                    "Write the binary form of the program to this file, or the kernels as a "
                    "recording for mgtune sweep --shapes");
    arguments.flag("--json", is_json_, "Print the kernels as JSON");
  }

  Result<int> run() override {
    if (!position_.empty() && !token_positions_.list.empty()) {
      return invalid_argument("--position and --positions exclude each other");
    }
    if (what_ == "kernels") return show_kernels();
    if (!token_positions_.list.empty()) {
      return invalid_argument("--positions is for show kernels; a program has one --position");
    }
    if (is_json_) return invalid_argument("--json is for show kernels");
    if (model_.empty() == file_.empty()) {
      return invalid_argument("show program needs either --model PATH or --file FILE");
    }
    MGTUNE_ASSIGN(const Program program, model_.empty() ? program_of_file() : program_of_model());
    if (output_.empty()) {
      std::cout << program_text(program);
    } else {
      MGTUNE_TRY(write_output(output_, "the program", program_bytes(program)));
    }
    return 0;
  }

 private:
  Result<int> show_kernels() const {
    if (model_.empty() || !file_.empty()) {
      return invalid_argument("show kernels needs --model PATH");
    }
    MGTUNE_ASSIGN(const ModelConfig config, open_config(model_));
    TokenPositions wanted = token_positions_;
    if (!position_.empty()) {
      MGTUNE_ASSIGN(const std::uint32_t position, position_or_zero());
      wanted.list = std::to_string(position);
    }
    MGTUNE_ASSIGN(const std::vector<std::uint32_t> positions, wanted.resolve(config));
    MGTUNE_ASSIGN(const ModelPrograms programs, programs_of_model(config, wanted.capacity));
    Catalog catalog(FileSystem::real());
    MGTUNE_ASSIGN(const std::vector<ModelKernel> kernels,
                  model_kernels(programs_at(programs.programs, positions), catalog));
    if (!output_.empty()) MGTUNE_TRY(write_output(output_, "the kernels", recording_of(kernels)));
    if (is_json_) {
      print_json(kernels);
    } else if (output_.empty()) {
      print_table(kernels);
    }
    return 0;
  }

  void print_json(const std::vector<ModelKernel>& kernels) const {
    const Json document = {{"model", model_},
                           {"dtype", dtype_},
                           {"batch", rows_},
                           {"kernels", Json::array(kernels, [](const ModelKernel& kernel) {
                              return Json{{"operator", kernel.problem.op->full_name()},
                                          {"problem", kernel.problem.text()},
                                          {"count", kernel.count},
                                          {"bytes", kernel.bytes},
                                          {"flops", kernel.flops}};
                            })}};
    std::cout << document.document_text();
  }

  static void print_table(const std::vector<ModelKernel>& kernels) {
    std::string text =
        fmt::format("{:>9} {:>10} {:>10}  {}\n", "per token", "MB each", "MB in all", "kernel");
    for (const ModelKernel& kernel : kernels) {
      text += fmt::format("{:>9} {:>10.2f} {:>10.2f}  {} {}\n", kernel.count, kernel.bytes / 1e6,
                          kernel.bytes * kernel.count / 1e6, kernel.problem.op->full_name(),
                          kernel.problem.text());
    }
    std::cout << text;
  }

  Result<Program> program_of_file() const {
    MGTUNE_ASSIGN(const std::string bytes, FileSystem::real().read_file(file_));
    Result<Program> program = program_from_bytes(bytes);
    if (!program.ok()) return std::move(program).take_status().with_context(file_);
    Status status = validate(*program);
    if (!status.ok()) return corrupt(std::move(status).with_context(file_).message());
    return program;
  }

  Result<ModelPrograms> programs_of_model(const ModelConfig& config, std::uint32_t capacity) const {
    ModelArguments precision;
    precision.dtype = dtype_;
    SessionOptions options;
    options.rows = rows_;
    options.capacity = capacity;
    options.precision = precision.precision();
    options.queues = queues_;
    options.workers = workers_;
    return make_programs(config, options);
  }

  Result<std::uint32_t> position_or_zero() const {
    if (position_.empty()) return 0;
    const auto position = parse_number<std::uint32_t>(position_);
    if (position && *position < 1U << 30) return *position;
    return invalid_argument(
        fmt::format("--position {}: that is not a position, such as 128", position_));
  }

  Result<Program> program_of_model() const {
    MGTUNE_ASSIGN(const std::uint32_t position, position_or_zero());
    MGTUNE_ASSIGN(const ModelConfig config, open_config(model_));
    MGTUNE_ASSIGN(ModelPrograms programs, programs_of_model(config, token_positions_.capacity));
    for (Program& program : programs.programs) {
      if (position < program.positions) return std::move(program);
    }
    return invalid_argument(fmt::format("--position {}: the caches have room for {} positions",
                                        position, programs.programs.back().positions));
  }

  std::string what_;
  std::string model_;
  std::string file_;
  std::string output_;
  std::string dtype_ = "bf16";
  std::uint32_t rows_ = 1;
  TokenPositions token_positions_;
  std::string position_;
  std::uint32_t queues_ = 1;
  std::uint32_t workers_ = 1;
  bool is_json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_show_command() { return std::make_unique<ShowCommand>(); }

}  // namespace mgtune::engine
