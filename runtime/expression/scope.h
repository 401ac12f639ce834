// Scope: the names that an expression may use. Each name has a type, the stage at which its value
// is known, and the slot where evaluation finds the value. A design's scope extends its operator's.
//
// A value is one 64-bit word: an integer, a boolean (0 or 1), or a symbol. Symbols are identifiers
// such as `cp_async` or `bf16`, other strings, and floating numbers as real_text() writes them,
// each with a small number. The number of a dtype is its DType. Copyable; const methods may run
// concurrently.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace mgtune {

enum class ValueType : std::uint8_t { integer, boolean, symbol };

// The stage at which the value of a name is known. An expression can be evaluated at the latest
// stage of its names.
enum class Stage : std::uint8_t {
  compile,  // params, static dims, dtypes, flags, has(...), device.*
  load,     // build.*: facts about the loaded build, from the device
  launch,   // dynamic and hint dims
};

std::string_view to_string(ValueType type);
std::string_view to_string(Stage stage);

bool is_dtype(std::int64_t symbol);  // of any scope

struct Name {
  std::string text;  // "hidden", "device.cc", "has(rstd)"
  ValueType type;
  Stage stage;
  int slot;
  std::vector<std::int64_t> symbols;  // of type symbol: the values it can take
};

class Scope {
 public:
  Scope();  // has the symbols of the dtypes and no name

  // Returns the slot of a new name. invalid_argument if the name is taken, is a reserved word or a
  // dtype. invalid_argument also if this name or one of `symbols` would give a word two meanings,
  // as a name and as a symbol.
  Result<int> declare(std::string_view text, ValueType type, Stage stage,
                      std::span<const std::string> symbols = {});

  // Forbids a word that looks like a name but has no value here (a tensor, or a let that comes
  // later). Until the word is declared, an expression that uses it fails with `reason`.
  void refuse(std::string_view text, std::string reason);
  const std::string* refusal(std::string_view text) const;  // null unless refused

  const Name* find(std::string_view text) const;
  std::span<const Name> names() const { return names_; }  // in slot order
  std::size_t size() const { return names_.size(); }      // slots that an evaluation needs

  std::int64_t intern(std::string_view symbol);
  std::optional<std::int64_t> find_symbol(std::string_view symbol) const;
  const std::string& symbol_text(std::int64_t symbol) const {
    return symbols_[std::size_t(symbol)];
  }

  // A value as JSON and people write it: "4096", "true", "bf16".
  std::string value_text(ValueType type, std::int64_t value) const;

 private:
  std::vector<Name> names_;
  std::map<std::string, int, std::less<>> slots_;
  std::vector<std::string> symbols_;
  std::map<std::string, std::int64_t, std::less<>> symbol_ids_;
  std::map<std::string, std::string, std::less<>> refusals_;
};

}  // namespace mgtune
