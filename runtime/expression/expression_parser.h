// ExpressionParser: precedence climbing over one text. It checks types and emits bytecode while it
// parses. An object is for one call of parse(). Internal to this folder.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "expression/expression.h"
#include "expression/scope.h"
#include "expression/token.h"

namespace mgtune {

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const Scope& scope);

  Result<Expression> parse(std::optional<ValueType> expected);

 private:
  using Op = Expression::Op;

  // A part that has been parsed. The code that leaves its value on the stack has been emitted.
  struct Operand {
    std::size_t begin = 0, end = 0;  // in the text
    ValueType type = ValueType::integer;
    std::vector<std::int64_t> symbols;  // type symbol: its possible values; empty: unknown word
  };

  Result<Operand> conditional();  // c ? a : b, and everything that binds tighter
  Result<Operand> chain(int lowest_precedence);
  Result<Operand> prefixed();  // - !
  Result<Operand> primary();
  Result<Operand> number();
  Result<Operand> name();
  Result<Operand> presence(const Token& word);                // has(...)
  Result<Operand> call(const Token& word);                    // min(...) ...
  Result<std::vector<Operand>> arguments(const Token& word);  // "(", expressions, ")"
  Result<Operand> load(const Token& word, const Name& name, std::size_t end);
  Result<Operand> combine(const Token& sign, Op op, const Operand& left, const Operand& right);
  Result<Operand> short_circuit(const Token& sign, Operand left, int precedence);

  Status require(const Operand& operand, ValueType type) const;
  Status comparable(const Operand& left, const Operand& right) const;
  Status unknown_symbol(const Operand& unknown, const Operand& other) const;
  Status unknown_name(std::string_view word, std::size_t place) const;
  Status expect(std::string_view sign);

  Token take();
  std::string_view spelling(const Operand& operand) const;
  Status error(std::string message, std::size_t place, std::size_t length) const;
  Status error(std::string message, const Operand& operand) const;

  void emit(Op op, std::size_t place, std::int64_t operand = 0);
  void emit_binary(Op op, std::size_t place);
  std::size_t emit_jump(Op op, std::size_t place);  // returns the argument of land()
  void land(std::size_t jump);                      // the jump's target is the next instruction

  const Scope& scope_;
  Expression result_;
  std::string_view text_;
  Token next_;
  std::size_t landed_ = 0;  // the last jump's target
  int nesting_ = 0;
  int depth_ = 0;  // of the stack, here
  int deepest_ = 0;
};

}  // namespace mgtune
