#include "program/binary_form.h"

#include <fmt/format.h>

#include <bit>
#include <cassert>
#include <concepts>
#include <cstring>

#include "program/operation.h"

namespace mgtune::engine {
namespace {

// Records are little-endian at fixed offsets.
class RecordWriter {
 public:
  explicit RecordWriter(std::size_t size) : bytes_(size, '\0') {}

  template <std::unsigned_integral Number>
  void put(std::size_t offset, Number number) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      bytes_[offset + i] = static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xff);
    }
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

template <std::unsigned_integral Number>
Number number_at(std::string_view record, std::size_t offset) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(record[offset + i])} << (8 * i);
  }
  return static_cast<Number>(number);
}

// The offsets of the words in the record of an instruction. Its first four fields are bytes.
constexpr std::size_t kQueue = 4;
constexpr std::size_t kSizes = 8;  // in the order of kSizeFields
constexpr std::size_t kEpsilon = 44;
constexpr std::size_t kScale = 48;
constexpr std::size_t kLayer = 52;
constexpr std::size_t kBytes = 56;
constexpr std::size_t kOperands = 64;
constexpr std::size_t kSignal = 124;
constexpr std::size_t kWaits = 128;
static_assert(kSizes + 4 * kSizeFields.size() == kEpsilon);
static_assert(kOperands + 4 * kOperandCount == kSignal);
static_assert(kWaits + 8 * kMaxWaits == kInstructionRecordBytes);

std::string buffer_record(const Buffer& buffer, std::size_t name_offset) {
  RecordWriter record(kBufferRecordBytes);
  record.put(0, static_cast<std::uint32_t>(name_offset));
  record.put(4, static_cast<std::uint16_t>(buffer.name.size()));
  record.put(6, static_cast<std::uint8_t>(buffer.kind));
  record.put(7, static_cast<std::uint8_t>(buffer.dtype));
  record.put(8, buffer.elements);
  record.put(16, buffer.base);
  return record.bytes();
}

std::string instruction_record(const Instruction& instruction) {
  RecordWriter record(kInstructionRecordBytes);
  record.put(0, static_cast<std::uint8_t>(instruction.opcode));
  record.put(1, static_cast<std::uint8_t>(instruction.norm));
  record.put(2, static_cast<std::uint8_t>(instruction.activation));
  record.put(3, static_cast<std::uint8_t>(instruction.rotation));
  record.put(kQueue, instruction.queue);
  for (std::size_t i = 0; i < kSizeFields.size(); ++i) {
    record.put(kSizes + 4 * i, instruction.*kSizeFields[i].member);
  }
  record.put(kEpsilon, std::bit_cast<std::uint32_t>(instruction.epsilon));
  record.put(kScale, std::bit_cast<std::uint32_t>(instruction.scale));
  record.put(kLayer, instruction.layer);
  record.put(kBytes, instruction.bytes);
  for (std::size_t i = 0; i < kOperandCount; ++i) {
    record.put(kOperands + 4 * i, instruction.operands[i]);
  }
  record.put(kSignal, instruction.signal);
  for (std::size_t i = 0; i < kMaxWaits; ++i) {
    record.put(kWaits + 8 * i, instruction.waits[i].counter);
    record.put(kWaits + 8 * i + 4, instruction.waits[i].value);
  }
  return record.bytes();
}

Result<Buffer> read_buffer(std::string_view record, std::string_view names) {
  const auto name_offset = number_at<std::uint32_t>(record, 0);
  const auto name_length = number_at<std::uint16_t>(record, 4);
  if (name_offset > names.size() || name_length > names.size() - name_offset) {
    return corrupt("its name lies outside of the names");
  }
  Buffer buffer;
  buffer.name = names.substr(name_offset, name_length);
  if (!is_buffer_name(buffer.name))
    return corrupt("its name has a character that names cannot have");
  const auto kind = number_at<std::uint8_t>(record, 6);
  if (kind >= kBufferKindWords.size()) return corrupt(fmt::format("unknown kind {}", kind));
  const auto dtype = number_at<std::uint8_t>(record, 7);
  if (dtype >= kDTypes.size()) return corrupt(fmt::format("unknown dtype {}", dtype));
  if (number_at<std::uint64_t>(record, 24) != 0) return corrupt("its reserved bytes are not zero");
  buffer.kind = static_cast<BufferKind>(kind);
  buffer.dtype = static_cast<DType>(dtype);
  buffer.elements = number_at<std::uint64_t>(record, 8);
  buffer.base = number_at<std::uint64_t>(record, 16);
  return buffer;
}

Result<Instruction> read_instruction(std::string_view record, std::uint32_t buffers) {
  const auto byte = [&](std::size_t offset) { return number_at<std::uint8_t>(record, offset); };
  const auto word = [&](std::size_t offset) { return number_at<std::uint32_t>(record, offset); };
  if (byte(0) >= kOpcodeWords.size()) return corrupt(fmt::format("unknown opcode {}", byte(0)));
  if (byte(1) >= kNormWords.size()) return corrupt(fmt::format("unknown norm {}", byte(1)));
  if (byte(2) >= kActivationWords.size()) {
    return corrupt(fmt::format("unknown activation {}", byte(2)));
  }
  if (byte(3) >= kRotationWords.size()) return corrupt(fmt::format("unknown rotation {}", byte(3)));
  Instruction instruction;
  instruction.opcode = static_cast<Opcode>(byte(0));
  instruction.norm = static_cast<Norm>(byte(1));
  instruction.activation = static_cast<Activation>(byte(2));
  instruction.rotation = static_cast<Rotation>(byte(3));
  instruction.queue = word(kQueue);
  for (std::size_t i = 0; i < kSizeFields.size(); ++i) {
    instruction.*kSizeFields[i].member = word(kSizes + 4 * i);
  }
  instruction.epsilon = std::bit_cast<float>(word(kEpsilon));
  instruction.scale = std::bit_cast<float>(word(kScale));
  instruction.layer = word(kLayer);
  instruction.bytes = number_at<std::uint64_t>(record, kBytes);
  for (std::size_t i = 0; i < kOperandCount; ++i) {
    instruction.operands[i] = word(kOperands + 4 * i);
    if (instruction.operands[i] != kNone && instruction.operands[i] >= buffers) {
      return corrupt(fmt::format("{} is buffer {}, but there are only {}", kOperandWords[i],
                                 instruction.operands[i], buffers));
    }
  }
  instruction.signal = word(kSignal);
  for (std::size_t i = 0; i < kMaxWaits; ++i) {
    instruction.waits[i] = {word(kWaits + 8 * i), word(kWaits + 8 * i + 4)};
  }
  return instruction;
}

}  // namespace

std::string program_bytes(const Program& program) {
  std::string names;
  std::string records;
  for (const Buffer& buffer : program.buffers) {
    assert(is_buffer_name(buffer.name));
    records += buffer_record(buffer, names.size());
    names += buffer.name;
  }
  for (const Instruction& instruction : program.instructions) {
    records += instruction_record(instruction);
  }
  RecordWriter header(kHeaderBytes);
  header.put(8, kProgramVersion);
  header.put(12, static_cast<std::uint32_t>(program.buffers.size()));
  header.put(16, static_cast<std::uint32_t>(program.instructions.size()));
  header.put(20, static_cast<std::uint32_t>(names.size()));
  header.put(24, program.queues);
  header.put(28, program.counters);
  header.put(32, program.rows);
  header.put(36, program.capacity);
  header.put(40, program.positions);
  header.put(44, program.vocabulary);
  std::string bytes = header.bytes();
  bytes.replace(0, kProgramMagic.size(), kProgramMagic);
  return bytes + records + names;
}

Result<Program> program_from_bytes(std::string_view bytes) {
  if (!bytes.starts_with(kProgramMagic)) {
    return corrupt(fmt::format("not a program: it does not begin with {}", kProgramMagic));
  }
  if (bytes.size() < kHeaderBytes) {
    return corrupt(
        fmt::format("cut short: {} bytes, but a header has {}", bytes.size(), kHeaderBytes));
  }
  const auto word = [&](std::size_t offset) { return number_at<std::uint32_t>(bytes, offset); };
  if (word(8) != kProgramVersion) {
    return incompatible(fmt::format("a program of version {}, but this mgengine reads version {}",
                                    word(8), kProgramVersion));
  }
  const std::uint32_t buffers = word(12);
  const std::uint32_t instructions = word(16);
  const std::uint64_t needed = kHeaderBytes + std::uint64_t{buffers} * kBufferRecordBytes +
                               std::uint64_t{instructions} * kInstructionRecordBytes + word(20);
  if (bytes.size() != needed) {
    return corrupt(
        fmt::format("it has {} bytes, but its header tells of {}", bytes.size(), needed));
  }
  if (number_at<std::uint64_t>(bytes, 48) != 0 || number_at<std::uint64_t>(bytes, 56) != 0) {
    return corrupt("the reserved bytes of its header are not zero");
  }
  Program program;
  program.queues = word(24);
  program.counters = word(28);
  program.rows = word(32);
  program.capacity = word(36);
  program.positions = word(40);
  program.vocabulary = word(44);
  const std::string_view names = bytes.substr(bytes.size() - word(20));
  std::string_view rest = bytes.substr(kHeaderBytes);
  for (std::uint32_t i = 0; i < buffers; ++i, rest.remove_prefix(kBufferRecordBytes)) {
    Result<Buffer> buffer = read_buffer(rest.substr(0, kBufferRecordBytes), names);
    if (!buffer.ok())
      return std::move(buffer).take_status().with_context(fmt::format("buffer {}", i));
    program.buffers.push_back(std::move(*buffer));
  }
  for (std::uint32_t i = 0; i < instructions; ++i, rest.remove_prefix(kInstructionRecordBytes)) {
    Result<Instruction> instruction =
        read_instruction(rest.substr(0, kInstructionRecordBytes), buffers);
    if (!instruction.ok()) {
      return std::move(instruction).take_status().with_context(fmt::format("instruction {}", i));
    }
    program.instructions.push_back(*instruction);
  }
  return program;
}

}  // namespace mgtune::engine
