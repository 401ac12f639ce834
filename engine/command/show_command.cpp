#include <fmt/format.h>

#include <iostream>

#include "command/model_arguments.h"
#include "generate/model_source.h"
#include "program/binary_form.h"
#include "program/operation.h"
#include "program/text_form.h"
#include "system/file_system.h"
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
           "\n"
           "The form of programs is described in engine/README.md.";
  }

  void declare(ArgumentList& arguments) override {
    arguments.word("WHAT", what_, {"program"}, "What to print: program");
    arguments.value("--model", model_, "PATH", "Folder, config.json or llama2.c file of the model");
    arguments.value("--file", file_, "FILE", "A program in its binary form, instead of a model");
    arguments.choice("--dtype", dtype_, {"f32", "bf16", "f16"}, "DTYPE",
                     "Of weights, activations and caches: f32, bf16 or f16");
    arguments.integer("--batch", rows_, 1, kMaxRows, "How many sequences");
    arguments.integer("--capacity", capacity_, 0, 1U << 30,
                      "Positions in the caches (0: all of the model)");
    arguments.integer("--position", position_, 0, 1U << 30,
                      "Print the program of the bucket that serves this position");
    arguments.integer("--queues", queues_, 1, 1024, "Queues that run at the same time");
    arguments.integer("--workers", workers_, 1, 1U << 20,
                      "Parallel units that attention should have work for");
    arguments.value("--output", output_, "FILE", "Write the binary form to this file");
  }

  Result<int> run() override {
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
  Result<Program> program_of_file() const {
    MGTUNE_ASSIGN(const std::string bytes, FileSystem::real().read_file(file_));
    Result<Program> program = program_from_bytes(bytes);
    if (!program.ok()) return std::move(program).take_status().with_context(file_);
    Status status = validate(*program);
    if (!status.ok()) return corrupt(std::move(status).with_context(file_).message());
    return program;
  }

  Result<Program> program_of_model() const {
    MGTUNE_ASSIGN(const ModelConfig config, open_config(model_));
    ModelArguments precision;
    precision.dtype = dtype_;
    SessionOptions options;
    options.rows = rows_;
    options.capacity = capacity_;
    options.precision = precision.precision();
    options.queues = queues_;
    options.workers = workers_;
    MGTUNE_ASSIGN(ModelPrograms programs, make_programs(config, options));
    for (Program& program : programs.programs) {
      if (position_ < program.positions) return std::move(program);
    }
    return invalid_argument(fmt::format("--position {}: the caches have room for {} positions",
                                        position_, programs.programs.back().positions));
  }

  std::string what_;
  std::string model_;
  std::string file_;
  std::string output_;
  std::string dtype_ = "bf16";
  std::uint32_t rows_ = 1;
  std::uint32_t capacity_ = 0;
  std::uint32_t position_ = 0;
  std::uint32_t queues_ = 1;
  std::uint32_t workers_ = 1;
};

}  // namespace

std::unique_ptr<Command> make_show_command() { return std::make_unique<ShowCommand>(); }

}  // namespace mgtune::engine
