// The binary form of a program: a header, then buffer records, instruction records and names. All
// records have a fixed size, so that a kernel can read them as they are. engine/README.md has the
// layout. Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"
#include "program/program.h"

namespace mgtune::engine {

inline constexpr std::string_view kProgramMagic = "MGENGPRG";
inline constexpr std::uint32_t kProgramVersion = 1;
inline constexpr std::size_t kHeaderBytes = 64;
inline constexpr std::size_t kBufferRecordBytes = 32;
inline constexpr std::size_t kInstructionRecordBytes = 160;

std::string program_bytes(const Program& program);

// corrupt, with the place, if the bytes are no program: a wrong size, an unknown word, a reserved
// byte that is not zero, a buffer that does not exist. incompatible for another version. The
// function does not check whether the program makes sense; validate() does that.
Result<Program> program_from_bytes(std::string_view bytes);

}  // namespace mgtune::engine
