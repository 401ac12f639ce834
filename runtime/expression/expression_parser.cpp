#include "expression/expression_parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/suggest.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxLength = 4096;
constexpr int kMaxNesting = 64;

std::string listed(const Scope& scope, const std::vector<std::int64_t>& symbols) {
  std::string list;
  for (const std::int64_t symbol : symbols) {
    list += (list.empty() ? "" : ", ") + scope.symbol_text(symbol);
  }
  return list;
}

// Counts a level of recursion for as long as it lives.
class Nesting {
 public:
  explicit Nesting(int& levels) : levels_(levels) { ++levels_; }
  ~Nesting() { --levels_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& levels_;
};

struct InfixSign {
  std::string_view sign;
  int precedence;
};
constexpr std::array<InfixSign, 13> kInfix = {{{"||", 1},
                                               {"&&", 2},
                                               {"==", 3},
                                               {"!=", 3},
                                               {"<", 4},
                                               {"<=", 4},
                                               {">", 4},
                                               {">=", 4},
                                               {"+", 5},
                                               {"-", 5},
                                               {"*", 6},
                                               {"/", 6},
                                               {"%", 6}}};

}  // namespace

Result<Expression> Expression::parse(std::string_view text, const Scope& scope,
                                     ValueType expected) {
  return ExpressionParser(text, scope).parse(expected);
}

Result<Expression> Expression::parse(std::string_view text, const Scope& scope) {
  return ExpressionParser(text, scope).parse(std::nullopt);
}

ExpressionParser::ExpressionParser(std::string_view text, const Scope& scope) : scope_(scope) {
  result_.text_ = text;
  text_ = result_.text_;
}

Result<Expression> ExpressionParser::parse(std::optional<ValueType> expected) {
  if (text_.size() > kMaxLength) {
    return invalid_argument("an expression of " + std::to_string(text_.size()) +
                            " bytes; at most " + std::to_string(kMaxLength) + " are read");
  }
  next_ = token_at(text_, 0);
  if (next_.kind == Token::Kind::end) return invalid_argument("an empty expression");
  MGTUNE_ASSIGN(const Operand whole, conditional());
  if (next_.kind != Token::Kind::end) {
    return error("unexpected " + quoted(next_.text), next_.place, next_.text.size());
  }
  MGTUNE_TRY(require(whole, expected.value_or(whole.type)));
  if (deepest_ > Expression::kMaxStack) {
    return error("the expression is nested too deeply", 0, text_.size());
  }
  result_.type_ = whole.type;
  std::ranges::sort(result_.slots_);
  result_.slots_.erase(std::unique(result_.slots_.begin(), result_.slots_.end()),
                       result_.slots_.end());
  return std::move(result_);
}

Result<ExpressionParser::Operand> ExpressionParser::conditional() {
  const Nesting nesting(nesting_);
  if (nesting_ > kMaxNesting) {
    return error("the expression is nested too deeply", next_.place, next_.text.size());
  }
  MGTUNE_ASSIGN(Operand condition, chain(1));
  if (next_.text != "?") return condition;
  MGTUNE_TRY(require(condition, ValueType::boolean));
  const Token question = take();
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
  first.begin = condition.begin;
  first.end = second.end;
  first.symbols.insert(first.symbols.end(), second.symbols.begin(), second.symbols.end());
  return first;
}

Result<ExpressionParser::Operand> ExpressionParser::chain(int lowest_precedence) {
  constexpr std::array<Op, kInfix.size()> kOps = {Op::jump_if_true_keep,
                                                  Op::jump_if_false_keep,
                                                  Op::equal,
                                                  Op::not_equal,
                                                  Op::less,
                                                  Op::less_equal,
                                                  Op::greater,
                                                  Op::greater_equal,
                                                  Op::add,
                                                  Op::subtract,
                                                  Op::multiply,
                                                  Op::divide,
                                                  Op::modulo};
  MGTUNE_ASSIGN(Operand left, prefixed());
  while (next_.kind == Token::Kind::sign) {
    const auto* const infix = std::ranges::find(kInfix, next_.text, &InfixSign::sign);
    if (infix == kInfix.end() || infix->precedence < lowest_precedence) break;
    const Token sign = take();
    if (infix->precedence <= 2) {
      MGTUNE_ASSIGN(left, short_circuit(sign, std::move(left), infix->precedence));
      continue;
    }
    MGTUNE_ASSIGN(const Operand right, chain(infix->precedence + 1));
    const Op op = kOps[static_cast<std::size_t>(infix - kInfix.begin())];
    MGTUNE_ASSIGN(left, combine(sign, op, left, right));
  }
  return left;
}

Result<ExpressionParser::Operand> ExpressionParser::short_circuit(const Token& sign, Operand left,
                                                                  int precedence) {
  MGTUNE_TRY(require(left, ValueType::boolean));
  const Op op = sign.text == "&&" ? Op::jump_if_false_keep : Op::jump_if_true_keep;
  const std::size_t to_end = emit_jump(op, sign.place);
  MGTUNE_ASSIGN(const Operand right, chain(precedence + 1));
  MGTUNE_TRY(require(right, ValueType::boolean));
  land(to_end);
  left.end = right.end;
  return left;
}

Result<ExpressionParser::Operand> ExpressionParser::combine(const Token& sign, Op op,
                                                            const Operand& left,
                                                            const Operand& right) {
  const bool equality = op == Op::equal || op == Op::not_equal;
  if (equality) {
    MGTUNE_TRY(comparable(left, right));
  } else {
    MGTUNE_TRY(require(left, ValueType::integer));
    MGTUNE_TRY(require(right, ValueType::integer));
  }
  emit_binary(op, sign.place);
  const bool comparison = equality || op == Op::less || op == Op::less_equal || op == Op::greater ||
                          op == Op::greater_equal;
  return Operand{left.begin, right.end, comparison ? ValueType::boolean : ValueType::integer, {}};
}

Result<ExpressionParser::Operand> ExpressionParser::prefixed() {
  if (next_.text != "-" && next_.text != "!") return primary();
  const Nesting nesting(nesting_);
  if (nesting_ > kMaxNesting) {
    return error("the expression is nested too deeply", next_.place, next_.text.size());
  }
  const Token sign = take();
  MGTUNE_ASSIGN(Operand operand, prefixed());
  const bool negation = sign.text == "-";
  MGTUNE_TRY(require(operand, negation ? ValueType::integer : ValueType::boolean));
  emit(negation ? Op::negate : Op::logical_not, sign.place);
  operand.begin = sign.place;
  return operand;
}

Result<ExpressionParser::Operand> ExpressionParser::primary() {
  if (next_.kind == Token::Kind::number) return number();
  if (next_.kind == Token::Kind::name) return name();
  if (next_.text == "(") {
    const Token open = take();
    MGTUNE_ASSIGN(Operand inner, conditional());
    const std::size_t end = next_.end();
    MGTUNE_TRY(expect(")"));
    MGTUNE_TRY(require(inner, inner.type));
    inner.begin = open.place;
    inner.end = end;
    return inner;
  }
  if (next_.kind == Token::Kind::end) return error("a value is missing", next_.place, 1);
  return error("expected a value, got " + quoted(next_.text), next_.place, next_.text.size());
}

Status ExpressionParser::require(const Operand& operand, ValueType type) const {
  if (operand.type == ValueType::symbol && operand.symbols.empty()) {
    return unknown_name(spelling(operand), operand.begin);
  }
  if (operand.type == type) return {};
  return error(
      "expected " + std::string(to_string(type)) + ", got " + std::string(to_string(operand.type)),
      operand);
}

Status ExpressionParser::comparable(const Operand& left, const Operand& right) const {
  const bool left_unknown = left.type == ValueType::symbol && left.symbols.empty();
  const bool right_unknown = right.type == ValueType::symbol && right.symbols.empty();
  if (right_unknown && left.type == ValueType::symbol && !left_unknown) {
    return unknown_symbol(right, left);
  }
  if (left_unknown && right.type == ValueType::symbol && !right_unknown) {
    return unknown_symbol(left, right);
  }
  MGTUNE_TRY(require(left, left.type));
  MGTUNE_TRY(require(right, left.type));
  if (left.type != ValueType::symbol) return {};
  if (std::ranges::find_first_of(left.symbols, right.symbols) != left.symbols.end()) return {};
  const bool swapped = left.symbols.size() < right.symbols.size();
  return unknown_symbol(swapped ? left : right, swapped ? right : left);
}

Status ExpressionParser::unknown_symbol(const Operand& unknown, const Operand& other) const {
  std::vector<std::string> values;
  for (const std::int64_t symbol : other.symbols) values.push_back(scope_.symbol_text(symbol));
  return error(quoted(spelling(other)) + " can never be " + quoted(spelling(unknown)) +
                   "; it can be " + listed(scope_, other.symbols) +
                   did_you_mean(spelling(unknown), values),
               unknown);
}

Status ExpressionParser::unknown_name(std::string_view word, std::size_t place) const {
  std::vector<std::string> candidates;
  for (const Name& known : scope_.names()) candidates.push_back(known.text);
  return error("unknown name " + quoted(word) + did_you_mean(word, candidates), place, word.size());
}

Status ExpressionParser::expect(std::string_view sign) {
  if (next_.text == sign) {
    take();
    return {};
  }
  const std::string got = next_.kind == Token::Kind::end ? "the end" : quoted(next_.text);
  return error("expected " + quoted(sign) + ", got " + got, next_.place, next_.text.size());
}

Token ExpressionParser::take() { return std::exchange(next_, token_at(text_, next_.end())); }

std::string_view ExpressionParser::spelling(const Operand& operand) const {
  return text_.substr(operand.begin, operand.end - operand.begin);
}

Status ExpressionParser::error(std::string message, std::size_t place, std::size_t length) const {
  return invalid_argument(with_caret(std::move(message), text_, place, length));
}

Status ExpressionParser::error(std::string message, const Operand& operand) const {
  return error(std::move(message), operand.begin, operand.end - operand.begin);
}

void ExpressionParser::emit(Op op, std::size_t place, std::int64_t operand) {
  result_.code_.push_back(
      {op, Expression::Source::stack, static_cast<std::int32_t>(place), operand});
  const bool pushes = op == Op::push || op == Op::load;
  const bool keeps = op == Op::negate || op == Op::logical_not || op == Op::is_pow2 ||
                     op == Op::size_of || op == Op::jump;
  depth_ += pushes ? 1 : (keeps ? 0 : -1);
  deepest_ = std::max(deepest_, depth_);
}

// If the right side is one push or load, and no jump ends after it, it becomes part of `op`.
void ExpressionParser::emit_binary(Op op, std::size_t place) {
  const Expression::Instruction right = result_.code_.back();
  const bool single = right.op == Op::push || right.op == Op::load;
  if (!single || landed_ == result_.code_.size()) return emit(op, place);
  result_.code_.pop_back();
  emit(op, place, right.operand);
  result_.code_.back().right =
      right.op == Op::push ? Expression::Source::constant : Expression::Source::slot;
}

std::size_t ExpressionParser::emit_jump(Op op, std::size_t place) {
  emit(op, place);
  return result_.code_.size() - 1;
}

void ExpressionParser::land(std::size_t jump) {
  landed_ = result_.code_.size();
  result_.code_[jump].operand = static_cast<std::int64_t>(landed_);
}

}  // namespace mgtune
