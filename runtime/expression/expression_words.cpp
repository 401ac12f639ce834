// What an expression is made of: numbers, names, has(...) and the functions.

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/suggest.h"
#include "expression/expression_parser.h"

namespace mgtune {

Result<ExpressionParser::Operand> ExpressionParser::number() {
  const Token word = take();
  std::int64_t value = 0;
  const auto read = std::from_chars(word.text.data(), word.text.data() + word.text.size(), value);
  if (read.ec != std::errc()) {
    return error("the number does not fit into 64 bits", word.place, word.text.size());
  }
  emit(Op::push, word.place, value);
  return Operand{word.place, word.end(), ValueType::integer, {}};
}

Result<ExpressionParser::Operand> ExpressionParser::name() {
  const Token word = take();
  if (word.text == "true" || word.text == "false") {
    emit(Op::push, word.place, word.text == "true" ? 1 : 0);
    return Operand{word.place, word.end(), ValueType::boolean, {}};
  }
  if (word.text == "has") return presence(word);
  if (next_.text == "(") return call(word);
  if (const Name* known = scope_.find(word.text)) return load(word, *known, word.end());
  if (const std::string* reason = scope_.refusal(word.text)) {
    return error(*reason, word.place, word.text.size());
  }
  // A word that is not a symbol either stays an operand for now. If it is compared with a
  // parameter, the error can list the parameter's values.
  Operand operand{word.place, word.end(), ValueType::symbol, {}};
  const auto symbol = scope_.find_symbol(word.text);
  if (symbol) operand.symbols = {*symbol};
  emit(Op::push, word.place, symbol.value_or(0));
  return operand;
}

Result<ExpressionParser::Operand> ExpressionParser::presence(const Token& word) {
  MGTUNE_TRY(expect("("));
  const Token tensor = take();
  if (tensor.kind != Token::Kind::name) {
    return error("has() takes the name of an optional tensor", tensor.place, tensor.text.size());
  }
  const std::size_t end = next_.end();
  MGTUNE_TRY(expect(")"));
  const std::string text = "has(" + std::string(tensor.text) + ")";
  if (const Name* known = scope_.find(text)) return load(word, *known, end);
  const std::string* reason = scope_.refusal(text);
  return error(reason != nullptr ? *reason : quoted(tensor.text) + " is not an optional tensor",
               tensor.place, tensor.text.size());
}

Result<ExpressionParser::Operand> ExpressionParser::load(const Token& word, const Name& known,
                                                         std::size_t end) {
  emit(Op::load, word.place, known.slot);
  result_.slots_.push_back(known.slot);
  result_.stage_ = std::max(result_.stage_, known.stage);
  return Operand{word.place, end, known.type, known.symbols};
}

Result<std::vector<ExpressionParser::Operand>> ExpressionParser::arguments(const Token& word) {
  MGTUNE_TRY(expect("("));
  std::vector<Operand> operands;
  while (true) {
    MGTUNE_ASSIGN(Operand operand, conditional());
    if (word.text != "sizeof") MGTUNE_TRY(require(operand, ValueType::integer));
    operands.push_back(std::move(operand));
    if (operands.size() > 1 && (word.text == "min" || word.text == "max")) {
      emit_binary(word.text == "min" ? Op::minimum : Op::maximum, word.place);
    }
    if (next_.text != ",") return operands;
    take();
  }
}

Result<ExpressionParser::Operand> ExpressionParser::call(const Token& word) {
  struct Function {
    std::string_view name;
    Op op;
    std::size_t arity;  // 0: two or more
    ValueType type;
  };
  constexpr std::array<Function, 7> kFunctions = {{
      {"min", Op::minimum, 0, ValueType::integer},
      {"max", Op::maximum, 0, ValueType::integer},
      {"ceil_div", Op::ceil_div, 2, ValueType::integer},
      {"round_up", Op::round_up, 2, ValueType::integer},
      {"gcd", Op::gcd, 2, ValueType::integer},
      {"is_pow2", Op::is_pow2, 1, ValueType::boolean},
      {"sizeof", Op::size_of, 1, ValueType::integer},
  }};
  const auto* const function = std::ranges::find(kFunctions, word.text, &Function::name);
  if (function == kFunctions.end()) {
    std::vector<std::string> names;
    names.reserve(kFunctions.size());
    for (const Function& candidate : kFunctions) names.emplace_back(candidate.name);
    return error("unknown function " + quoted(word.text) + did_you_mean(word.text, names),
                 word.place, word.text.size());
  }
  MGTUNE_ASSIGN(const std::vector<Operand> operands, arguments(word));
  const std::size_t end = next_.end();
  MGTUNE_TRY(expect(")"));
  if (function->arity == 0 ? operands.size() < 2 : operands.size() != function->arity) {
    const std::string wanted =
        function->arity == 0 ? "two or more" : (function->arity == 1 ? "one" : "two");
    return error(std::string(word.text) + " takes " + wanted + " values, got " +
                     std::to_string(operands.size()),
                 word.place, end - word.place);
  }
  if (function->op == Op::size_of) {
    MGTUNE_TRY(require(operands[0], ValueType::symbol));
    if (!std::ranges::all_of(operands[0].symbols, is_dtype)) {
      return error("sizeof takes a dtype", operands[0]);
    }
  }
  if (function->arity == 1) emit(function->op, word.place);
  if (function->arity == 2) emit_binary(function->op, word.place);
  return Operand{word.place, end, function->type, {}};
}

}  // namespace mgtune
