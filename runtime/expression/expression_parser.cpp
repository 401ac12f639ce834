// Expression::parse(): from a text to bytecode.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/text.h"
#include "core/variant_words.h"
#include "expression/expression.h"
#include "expression/token.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxLength = 4096;
constexpr int kMaxNesting = 64;

bool is_identifier_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

// Precedence climbing over one text. It checks types and emits bytecode while it parses. An object
// is for one call of parse().
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const Scope& scope) : scope_(scope) {
    result_.text_ = text;
    text_ = result_.text_;
  }

  Result<Expression> parse(std::optional<ValueType> expected) {
    if (text_.size() > kMaxLength) {
      return invalid_argument(
          fmt::format("an expression of {} bytes; at most {} are read", text_.size(), kMaxLength));
    }
    next_ = token_at(text_, 0);
    if (next_.kind == Token::Kind::end) return invalid_argument("an empty expression");
    MGTUNE_ASSIGN(const Operand whole, conditional());
    if (next_.kind != Token::Kind::end) return error("unexpected " + in_quotes(next_.text), next_);
    MGTUNE_TRY(require(whole, expected.value_or(whole.type)));
    if (deepest_ > Expression::kMaxStack) {
      return result_.refusal("the expression is nested too deeply");
    }
    result_.type_ = whole.type;
    std::ranges::sort(result_.slots_);
    result_.slots_.erase(std::unique(result_.slots_.begin(), result_.slots_.end()),
                         result_.slots_.end());
    return std::move(result_);
  }

 private:
  using Op = Expression::Op;

  // A part that has been parsed. The code that leaves its value on the stack has been emitted.
  struct Operand {
    std::size_t begin = 0, end = 0;  // in the text
    ValueType type = ValueType::integer;
    std::vector<std::int64_t> symbols;  // type symbol: its possible values; empty: unknown word

    bool is_unknown_word() const { return type == ValueType::symbol && symbols.empty(); }
  };

  // Counts a level of recursion. Whoever calls it counts down again, except after a failure, which
  // ends the parse.
  Status enter_level() {
    if (++nesting_ > kMaxNesting) return error("the expression is nested too deeply", next_);
    return {};
  }

  Result<Operand> conditional() {
    MGTUNE_TRY(enter_level());
    MGTUNE_ASSIGN(Operand condition, chain(1));
    if (next_.text != "?") {
      --nesting_;
      return condition;
    }
    MGTUNE_TRY(require(condition, ValueType::boolean));
    const Token question = next_token();
    const std::size_t to_else = emit_jump(Op::jump_if_false, question.place);
    MGTUNE_ASSIGN(Operand first, conditional());
    MGTUNE_TRY(expect(":"));
    const std::size_t to_end = emit_jump(Op::jump, question.place);
    land(to_else);
    --depth_;  // only one of the two branches leaves its value
    MGTUNE_ASSIGN(Operand second, conditional());
    land(to_end);
    MGTUNE_TRY(require(first, first.type));
    MGTUNE_TRY(require(second, first.type));
    --nesting_;
    first.begin = condition.begin;
    first.end = second.end;
    first.symbols.insert(first.symbols.end(), second.symbols.begin(), second.symbols.end());
    return first;
  }

  Result<Operand> chain(int lowest_precedence) {
    struct Infix {
      std::string_view sign;
      int precedence;
      Op op;
    };
    constexpr std::array<Infix, 13> kInfix = {{
        {"||", 1, Op::jump_if_true_keep},
        {"&&", 2, Op::jump_if_false_keep},
        {"==", 3, Op::equal},
        {"!=", 3, Op::not_equal},
        {"<", 4, Op::less},
        {"<=", 4, Op::less_equal},
        {">", 4, Op::greater},
        {">=", 4, Op::greater_equal},
        {"+", 5, Op::add},
        {"-", 5, Op::subtract},
        {"*", 6, Op::multiply},
        {"/", 6, Op::divide},
        {"%", 6, Op::modulo},
    }};
    MGTUNE_ASSIGN(Operand left, prefixed());
    while (next_.kind == Token::Kind::sign) {
      const auto* const infix = std::ranges::find(kInfix, next_.text, &Infix::sign);
      if (infix == kInfix.end() || infix->precedence < lowest_precedence) break;
      const Token sign = next_token();
      if (infix->precedence <= 2) {
        MGTUNE_TRY(short_circuit(sign, infix->op, left, infix->precedence));
      } else {
        MGTUNE_ASSIGN(const Operand right, chain(infix->precedence + 1));
        MGTUNE_ASSIGN(left, combine(sign, infix->op, left, right));
      }
    }
    return left;
  }

  Status short_circuit(const Token& sign, Op op, Operand& left, int precedence) {
    MGTUNE_TRY(require(left, ValueType::boolean));
    const std::size_t to_end = emit_jump(op, sign.place);
    MGTUNE_ASSIGN(const Operand right, chain(precedence + 1));
    MGTUNE_TRY(require(right, ValueType::boolean));
    land(to_end);
    left.end = right.end;
    return {};
  }

  Result<Operand> combine(const Token& sign, Op op, const Operand& left, const Operand& right) {
    const bool equality = op == Op::equal || op == Op::not_equal;
    if (equality) {
      MGTUNE_TRY(comparable(left, right));
    } else {
      MGTUNE_TRY(require(left, ValueType::integer));
      MGTUNE_TRY(require(right, ValueType::integer));
    }
    emit_binary(op, sign.place);
    const bool comparison = equality || op == Op::less || op == Op::less_equal ||
                            op == Op::greater || op == Op::greater_equal;
    return Operand{left.begin, right.end, comparison ? ValueType::boolean : ValueType::integer, {}};
  }

  Result<Operand> prefixed() {
    if (next_.text != "-" && next_.text != "!") return primary();
    MGTUNE_TRY(enter_level());
    const Token sign = next_token();
    if (sign.text == "-" && next_.kind == Token::Kind::real) {
      --nesting_;
      return real(sign.place, -1);
    }
    MGTUNE_ASSIGN(Operand operand, prefixed());
    --nesting_;
    const bool negation = sign.text == "-";
    MGTUNE_TRY(require(operand, negation ? ValueType::integer : ValueType::boolean));
    emit(negation ? Op::negate : Op::logical_not, sign.place);
    operand.begin = sign.place;
    return operand;
  }

  Result<Operand> primary() {
    if (next_.kind == Token::Kind::number) return number();
    if (next_.kind == Token::Kind::real) return real(next_.place, 1);
    if (next_.kind == Token::Kind::quoted) return quoted_word();
    if (next_.kind == Token::Kind::name) return name();
    if (next_.text == "(") {
      const Token open = next_token();
      MGTUNE_ASSIGN(Operand inner, conditional());
      const std::size_t end = next_.end();
      MGTUNE_TRY(expect(")"));
      MGTUNE_TRY(require(inner, inner.type));
      inner.begin = open.place;
      inner.end = end;
      return inner;
    }
    if (next_.kind == Token::Kind::end) return error("a value is missing", next_);
    return error("expected a value, got " + in_quotes(next_.text), next_);
  }

  Status require(const Operand& operand, ValueType type) const {
    if (operand.is_unknown_word()) {
      const std::string_view word = spelling(operand);
      if (!is_identifier_start(word[0])) {
        return error("no parameter has the value " + std::string(word), operand);
      }
      return error(
          "unknown name " + in_quotes(word) + did_you_mean(word, scope_.names(), &Name::text),
          operand);
    }
    if (operand.type == type) return {};
    return error(fmt::format("expected {}, got {}", to_string(type), to_string(operand.type)),
                 operand);
  }

  Status comparable(const Operand& left, const Operand& right) const {
    const bool are_symbols = left.type == ValueType::symbol && right.type == ValueType::symbol;
    if (are_symbols && left.is_unknown_word() != right.is_unknown_word()) {
      return left.is_unknown_word() ? unknown_symbol(left, right) : unknown_symbol(right, left);
    }
    MGTUNE_TRY(require(left, left.type));
    MGTUNE_TRY(require(right, left.type));
    if (!are_symbols) return {};
    if (std::ranges::find_first_of(left.symbols, right.symbols) != left.symbols.end()) return {};
    const bool swapped = left.symbols.size() < right.symbols.size();
    return unknown_symbol(swapped ? left : right, swapped ? right : left);
  }

  Status unknown_symbol(const Operand& unknown, const Operand& other) const {
    std::vector<std::string> values;
    for (const std::int64_t symbol : other.symbols) values.push_back(scope_.symbol_text(symbol));
    return error(
        fmt::format("'{}' can never be '{}'; it can be {}{}", spelling(other), spelling(unknown),
                    fmt::join(values, ", "), did_you_mean(spelling(unknown), values)),
        unknown);
  }

  Status expect(std::string_view sign) {
    const Token got = next_token();
    if (got.text == sign) return {};
    const std::string name = got.kind == Token::Kind::end ? "the end" : in_quotes(got.text);
    return error("expected " + in_quotes(sign) + ", got " + name, got);
  }

  Token next_token() { return std::exchange(next_, token_at(text_, next_.end())); }

  std::string_view spelling(const Operand& operand) const {
    return text_.substr(operand.begin, operand.end - operand.begin);
  }

  Status error(std::string message, const Token& token) const {
    return invalid_argument(with_caret(std::move(message), text_, token.place, token.text.size()));
  }

  Status error(std::string message, const Operand& operand) const {
    return error(std::move(message), Token{Token::Kind::name, spelling(operand), operand.begin});
  }

  void emit(Op op, std::size_t place, std::int64_t operand = 0) {
    result_.code_.push_back(
        {op, Expression::Source::stack, static_cast<std::int32_t>(place), operand});
    const bool pushes = op == Op::push || op == Op::load;
    const bool keeps = op == Op::negate || op == Op::logical_not || op == Op::is_pow2 ||
                       op == Op::size_of || op == Op::jump;
    depth_ += pushes ? 1 : (keeps ? 0 : -1);
    deepest_ = std::max(deepest_, depth_);
  }

  // If the right side is one push or load, and no jump ends after it, it becomes part of `op`.
  void emit_binary(Op op, std::size_t place) {
    const Expression::Instruction right = result_.code_.back();
    const bool single = right.op == Op::push || right.op == Op::load;
    if (!single || landed_ == result_.code_.size()) return emit(op, place);
    result_.code_.pop_back();
    emit(op, place, right.operand);
    result_.code_.back().right =
        right.op == Op::push ? Expression::Source::constant : Expression::Source::slot;
  }

  // Returns the argument of land(), which makes the next instruction the target.
  std::size_t emit_jump(Op op, std::size_t place) {
    emit(op, place);
    return result_.code_.size() - 1;
  }

  void land(std::size_t jump) {
    landed_ = result_.code_.size();
    result_.code_[jump].operand = static_cast<std::int64_t>(landed_);
  }

  Result<Operand> number() {
    const Token word = next_token();
    const auto value = parse_number<std::int64_t>(word.text);
    if (!value) return error("the number does not fit into 64 bits", word);
    emit(Op::push, word.place, *value);
    return Operand{word.place, word.end(), ValueType::integer, {}};
  }

  // A floating number and a quoted word are symbols: parameters can be compared with them.
  Result<Operand> real(std::size_t begin, double sign) {
    const Token word = next_token();
    const auto value = parse_number<double>(word.text);
    if (!value) return error("the number is out of range", word);
    return symbol({begin, word.end(), ValueType::symbol, {}}, real_text(sign * *value));
  }

  Result<Operand> quoted_word() {
    const Token word = next_token();
    return symbol({word.place, word.end(), ValueType::symbol, {}},
                  word.text.substr(1, word.text.size() - 2));
  }

  Operand symbol(Operand operand, std::string_view text) {
    const auto known = scope_.find_symbol(text);
    if (known) operand.symbols = {*known};
    emit(Op::push, operand.begin, known.value_or(0));
    return operand;
  }

  Result<Operand> name() {
    const Token word = next_token();
    if (word.text == "true" || word.text == "false") {
      emit(Op::push, word.place, word.text == "true" ? 1 : 0);
      return Operand{word.place, word.end(), ValueType::boolean, {}};
    }
    if (word.text == "has") return presence(word);
    if (next_.text == "(") return call(word);
    if (const Name* known = scope_.find(word.text)) return load(word, *known, word.end());
    if (const std::string* reason = scope_.refusal(word.text)) {
      return error(*reason, word);
    }
    // A word that is not a symbol either stays an operand for now. If it is compared with a
    // parameter, the error can list the parameter's values.
    return symbol({word.place, word.end(), ValueType::symbol, {}}, word.text);
  }

  Result<Operand> presence(const Token& word) {
    MGTUNE_TRY(expect("("));
    const Token tensor = next_token();
    if (tensor.kind != Token::Kind::name) {
      return error("has() takes the name of an optional tensor", tensor);
    }
    const std::size_t end = next_.end();
    MGTUNE_TRY(expect(")"));
    const std::string text = "has(" + std::string(tensor.text) + ")";
    if (const Name* known = scope_.find(text)) return load(word, *known, end);
    const std::string* reason = scope_.refusal(text);
    return error(
        reason != nullptr ? *reason : in_quotes(tensor.text) + " is not an optional tensor",
        tensor);
  }

  Result<Operand> load(const Token& word, const Name& known, std::size_t end) {
    emit(Op::load, word.place, known.slot);
    result_.slots_.push_back(known.slot);
    result_.stage_ = std::max(result_.stage_, known.stage);
    return Operand{word.place, end, known.type, known.symbols};
  }

  Result<std::vector<Operand>> arguments(const Token& word) {
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
      next_token();
    }
  }

  Result<Operand> call(const Token& word) {
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
      return error("unknown function " + in_quotes(word.text) +
                       did_you_mean(word.text, kFunctions, &Function::name),
                   word);
    }
    MGTUNE_ASSIGN(const std::vector<Operand> operands, arguments(word));
    const Operand whole{word.place, next_.end(), function->type, {}};
    MGTUNE_TRY(expect(")"));
    if (function->arity == 0 ? operands.size() < 2 : operands.size() != function->arity) {
      const std::string wanted =
          function->arity == 0 ? "two or more" : (function->arity == 1 ? "one" : "two");
      return error(fmt::format("{} takes {} values, got {}", word.text, wanted, operands.size()),
                   whole);
    }
    if (function->op == Op::size_of) {
      MGTUNE_TRY(require(operands[0], ValueType::symbol));
      if (!std::ranges::all_of(operands[0].symbols, is_dtype)) {
        return error("sizeof takes a dtype", operands[0]);
      }
    }
    if (function->arity == 1) emit(function->op, word.place);
    if (function->arity == 2) emit_binary(function->op, word.place);
    return whole;
  }

  const Scope& scope_;
  Expression result_;
  std::string_view text_;
  Token next_;
  std::size_t landed_ = 0;  // the last jump's target
  int nesting_ = 0;
  int depth_ = 0;  // of the stack, here
  int deepest_ = 0;
};

Result<Expression> Expression::parse(std::string_view text, const Scope& scope,
                                     std::optional<ValueType> expected) {
  return ExpressionParser(text, scope).parse(expected);
}

}  // namespace mgtune
