// CudaSource: a CUDA C++ file as tokens and preprocessor directives. Comments are skipped. This is
// enough to find kernels, their parameters, and the names that they use. It is not a compiler: it
// reads both sides of an #if, and does not expand macros. Pure functions; plain data.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mgtune {

struct CudaToken {
  enum class Kind : std::uint8_t { word, number, text, mark, end };
  Kind kind = Kind::end;
  std::string text;        // a mark has one character, or is one of :: -> ++ == += and so on
  int line = 0;            // from 1
  std::size_t offset = 0;  // in CudaSource::text
};

// "#define BLOCK 128". Lines that end in a backslash are joined; comments are left out.
struct CudaDirective {
  std::string name;  // "define"
  std::string rest;  // "BLOCK 128"
  int line = 0;
  std::size_t begin = 0, end = 0;  // offsets in CudaSource::text
};

struct CudaSource {
  std::string file;  // the name that messages use
  std::string text;
  std::vector<CudaToken> tokens;  // the last one is of kind `end`
  std::vector<CudaDirective> directives;

  bool is(std::size_t token, std::string_view mark) const {
    return token < tokens.size() && tokens[token].text == mark &&
           tokens[token].kind != CudaToken::Kind::text;
  }
  bool is_word(std::size_t token) const {
    return token < tokens.size() && tokens[token].kind == CudaToken::Kind::word;
  }
  // The index of the token behind the bracket that closes the one at `open`, which is ( [ { or <.
  // The end of the file if the bracket is never closed.
  std::size_t after_bracket(std::size_t open) const;
  std::string place(int line) const { return file + ":" + std::to_string(line); }
};

CudaSource read_cuda_source(std::string file, std::string text);

}  // namespace mgtune
