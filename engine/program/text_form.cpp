#include "program/text_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <vector>

#include "core/text.h"
#include "program/operation.h"

namespace mgtune::engine {
namespace {

constexpr std::string_view kFirstLine = "mgengine program 1";

// The numbers of the second line.
struct ProgramField {
  std::string_view name;
  std::uint32_t Program::*member;
};
constexpr std::array<ProgramField, 6> kProgramFields = {{
    {"rows", &Program::rows},
    {"capacity", &Program::capacity},
    {"positions", &Program::positions},
    {"vocabulary", &Program::vocabulary},
    {"queues", &Program::queues},
    {"counters", &Program::counters},
}};

using Words = std::vector<std::string_view>;

Words words_of(std::string_view line) {
  Words words;
  while (!line.empty()) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    if (blank > 0) words.push_back(line.substr(0, blank));
    line.remove_prefix(std::min(blank + 1, line.size()));
  }
  return words;
}

template <typename Choice, std::size_t kCount>
Status read_choice(std::string_view word, const std::array<std::string_view, kCount>& words,
                   Choice& choice) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) {
    return corrupt(
        fmt::format("'{}' is unknown{}", word,
                    must_be_one_of(word, std::vector<std::string>(words.begin(), words.end()))));
  }
  choice = static_cast<Choice>(found - words.begin());
  return {};
}

template <typename Number>
Status read_number(std::string_view word, Number& number) {
  const std::optional<Number> read = parse_number<Number>(word);
  if (!read) return corrupt(fmt::format("'{}' is no number that fits here", word));
  number = *read;
  return {};
}

Status read_waits(std::string_view list, Instruction& instruction) {
  std::size_t count = 0;
  for (const std::string& wait : split_list(list)) {
    if (count == kMaxWaits) return corrupt(fmt::format("more than {} waits", kMaxWaits));
    const std::size_t colon = wait.find(':');
    if (colon == wait.npos) return corrupt(fmt::format("a wait is COUNTER:VALUE, not '{}'", wait));
    MGTUNE_TRY(
        read_number(std::string_view(wait).substr(0, colon), instruction.waits[count].counter));
    MGTUNE_TRY(
        read_number(std::string_view(wait).substr(colon + 1), instruction.waits[count].value));
    ++count;
  }
  return {};
}

class ProgramReader {
 public:
  Status read_line(std::string_view line) {
    const Words words = words_of(line);
    if (words.empty()) return {};
    if (words[0] == "buffer") return read_buffer(words);
    return read_instruction(words);
  }

  Status read_numbers(std::string_view line) {
    const Words words = words_of(line);
    if (words.size() != kProgramFields.size())
      return corrupt("the numbers of a program stand here");
    for (std::size_t i = 0; i < kProgramFields.size(); ++i) {
      const std::string start = fmt::format("{}=", kProgramFields[i].name);
      if (!words[i].starts_with(start)) {
        return corrupt(fmt::format("{} comes here, not '{}'", start, words[i]));
      }
      MGTUNE_TRY(read_number(words[i].substr(start.size()), program_.*kProgramFields[i].member));
    }
    return {};
  }

  Program take() { return std::move(program_); }

 private:
  Status read_buffer(const Words& words) {
    if (words.size() != 6 || !words[5].starts_with('@')) {
      return corrupt("a buffer is: buffer NAME KIND DTYPE ELEMENTS @BASE");
    }
    Buffer buffer;
    buffer.name = words[1];
    if (!is_buffer_name(buffer.name)) return corrupt(fmt::format("'{}' is no name", words[1]));
    MGTUNE_TRY(read_choice(words[2], kBufferKindWords, buffer.kind));
    const std::optional<DType> dtype = dtype_from_string(words[3]);
    if (!dtype) return corrupt(fmt::format("'{}' is no dtype", words[3]));
    buffer.dtype = *dtype;
    MGTUNE_TRY(read_number(words[4], buffer.elements));
    MGTUNE_TRY(read_number(words[5].substr(1), buffer.base));
    const auto index = static_cast<std::uint32_t>(program_.buffers.size());
    if (!buffers_.emplace(buffer.name, index).second) {
      return corrupt(fmt::format("a second buffer '{}'", buffer.name));
    }
    program_.buffers.push_back(std::move(buffer));
    return {};
  }

  Status read_instruction(const Words& words) {
    Instruction instruction;
    MGTUNE_TRY(read_choice(words[0], kOpcodeWords, instruction.opcode));
    for (const std::string_view word : std::span(words).subspan(1)) {
      const std::size_t sign = word.find('=');
      if (sign == word.npos) return corrupt(fmt::format("'{}' is not NAME=VALUE", word));
      MGTUNE_TRY(read_field(word.substr(0, sign), word.substr(sign + 1), instruction));
    }
    program_.instructions.push_back(instruction);
    return {};
  }

  Status read_field(std::string_view name, std::string_view value, Instruction& instruction) {
    for (const SizeField& field : kSizeFields) {
      if (name == field.name) return read_number(value, instruction.*field.member);
    }
    if (name == "layer") return read_number(value, instruction.layer);
    if (name == "queue") return read_number(value, instruction.queue);
    if (name == "norm") return read_choice(value, kNormWords, instruction.norm);
    if (name == "activation") return read_choice(value, kActivationWords, instruction.activation);
    if (name == "rotation") return read_choice(value, kRotationWords, instruction.rotation);
    if (name == "epsilon") return read_number(value, instruction.epsilon);
    if (name == "scale") return read_number(value, instruction.scale);
    if (name == "bytes") return read_number(value, instruction.bytes);
    if (name == "signal") return read_number(value, instruction.signal);
    if (name == "wait") return read_waits(value, instruction);
    Operand operand{};
    MGTUNE_TRY(read_choice(name, kOperandWords, operand));
    const auto buffer = buffers_.find(value);
    if (buffer == buffers_.end()) return corrupt(fmt::format("there is no buffer '{}'", value));
    instruction.at(operand) = buffer->second;
    return {};
  }

  Program program_;
  std::map<std::string, std::uint32_t, std::less<>> buffers_;
};

}  // namespace

std::string instruction_text(const Program& program, const Instruction& instruction) {
  std::string text(to_string(instruction.opcode));
  const auto add = [&](std::string_view name, const auto& value) {
    fmt::format_to(std::back_inserter(text), " {}={}", name, value);
  };
  if (instruction.layer != kNone) add("layer", instruction.layer);
  if (instruction.queue != 0) add("queue", instruction.queue);
  for (const SizeField& field : kSizeFields) {
    if (instruction.*field.member != 0) add(field.name, instruction.*field.member);
  }
  const auto word = [](const auto& words, auto choice) {
    return words[static_cast<std::size_t>(choice)];
  };
  if (instruction.norm != Norm::none) add("norm", word(kNormWords, instruction.norm));
  if (instruction.epsilon != 0) add("epsilon", instruction.epsilon);
  if (instruction.activation != Activation::none) {
    add("activation", word(kActivationWords, instruction.activation));
  }
  if (instruction.rotation != Rotation::none) {
    add("rotation", word(kRotationWords, instruction.rotation));
  }
  if (instruction.scale != 0) add("scale", instruction.scale);
  if (instruction.bytes != 0) add("bytes", instruction.bytes);
  for (std::size_t i = 0; i < kOperandCount; ++i) {
    if (instruction.operands[i] == kNone) continue;
    add(kOperandWords[i], program.buffers[instruction.operands[i]].name);
  }
  std::string_view separator = " wait=";
  for (const Wait& wait : instruction.waits) {
    if (wait.counter == kNone && wait.value == 0) continue;
    fmt::format_to(std::back_inserter(text), "{}{}:{}", separator, wait.counter, wait.value);
    separator = ",";
  }
  if (instruction.signal != kNone) add("signal", instruction.signal);
  return text;
}

std::string program_text(const Program& program) {
  std::string text(kFirstLine);
  std::string_view separator = "\n";
  for (const ProgramField& field : kProgramFields) {
    fmt::format_to(std::back_inserter(text), "{}{}={}", separator, field.name,
                   program.*field.member);
    separator = " ";
  }
  text += '\n';
  for (const Buffer& buffer : program.buffers) {
    fmt::format_to(std::back_inserter(text), "buffer {} {} {} {} @{}\n", buffer.name,
                   to_string(buffer.kind), to_string(buffer.dtype), buffer.elements, buffer.base);
  }
  for (const Instruction& instruction : program.instructions) {
    text += instruction_text(program, instruction) + '\n';
  }
  return text;
}

Result<Program> program_from_text(std::string_view text) {
  ProgramReader reader;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (number == 1 && line != kFirstLine) {
      return corrupt(fmt::format("line 1: a program begins with '{}'", kFirstLine));
    }
    if (number == 1) continue;
    Status status = number == 2 ? reader.read_numbers(line) : reader.read_line(line);
    if (!status.ok()) return std::move(status).with_context(fmt::format("line {}", number));
  }
  return reader.take();
}

}  // namespace mgtune::engine
