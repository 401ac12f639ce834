#include "expression/metric_formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "expression/token.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxFormula = 16384;
constexpr int kMaxFormulaNesting = 32;

}  // namespace

// Recursive descent over one text. An object is for one call of parse().
class MetricParser {
 public:
  MetricParser(std::string_view text, const MetricFormula::CheckName& check_name)
      : check_name_(check_name) {
    result_.text_ = text;
    text_ = result_.text_;
  }

  Result<MetricFormula> parse() {
    if (text_.size() > kMaxFormula) {
      return invalid_argument(
          fmt::format("a formula of {} bytes; at most {} are read", text_.size(), kMaxFormula));
    }
    next_ = token_at(text_, 0);
    if (next_.kind == Token::Kind::end) return invalid_argument("an empty formula");
    MGTUNE_TRY(sum());
    if (next_.kind != Token::Kind::end) {
      return error("unexpected " + in_quotes(next_.text) + ": a formula has + - * / and functions",
                   next_);
    }
    return std::move(result_);
  }

 private:
  using Op = MetricFormula::Op;

  Status error(std::string message, const Token& at) const {
    return invalid_argument(
        with_caret(std::move(message), text_, at.place, std::max<std::size_t>(at.text.size(), 1)));
  }

  Token next_token() {
    const Token token = next_;
    next_ = token_at(text_, token.end());
    return token;
  }

  Status expect(std::string_view sign) {
    if (next_.text == sign) {
      next_token();
      return {};
    }
    const std::string got =
        next_.kind == Token::Kind::end ? "the end of the formula" : in_quotes(next_.text);
    return error(fmt::format("expected '{}', got {}", sign, got), next_);
  }

  void emit(Op op, double number = 0, std::size_t name = 0) {
    result_.steps_.push_back({op, number, name});
  }

  Status sum() {
    if (++nesting_ > kMaxFormulaNesting) return error("the formula is nested too deeply", next_);
    MGTUNE_TRY(product());
    while (next_.text == "+" || next_.text == "-") {
      const Op op = next_token().text == "+" ? Op::add : Op::subtract;
      MGTUNE_TRY(product());
      emit(op);
    }
    --nesting_;
    return {};
  }

  Status product() {
    MGTUNE_TRY(factor());
    while (next_.text == "*" || next_.text == "/") {
      const Op op = next_token().text == "*" ? Op::multiply : Op::divide;
      MGTUNE_TRY(factor());
      emit(op);
    }
    return {};
  }

  Status factor() {
    if (next_.text == "-") {
      if (++nesting_ > kMaxFormulaNesting) return error("the formula is nested too deeply", next_);
      next_token();
      MGTUNE_TRY(factor());
      emit(Op::negate);
      --nesting_;
      return {};
    }
    const Token token = next_token();
    if (token.text == "(") {
      MGTUNE_TRY(sum());
      return expect(")");
    }
    if (token.kind == Token::Kind::number || token.kind == Token::Kind::real) {
      const std::optional<double> number = parse_number<double>(token.text);
      if (!number) return error("this number is too large", token);
      emit(Op::push, *number);
      return {};
    }
    if (token.kind == Token::Kind::name) {
      return next_.text == "(" ? call(token) : load(token.text, token, token.end());
    }
    if (token.kind == Token::Kind::end) {
      return error("expected a value, got the end of the formula", token);
    }
    return error("expected a value, got " + in_quotes(token.text), token);
  }

  Status call(const Token& function) {
    if (function.text == "sizeof" || function.text == "has") return fact(function);
    if (function.text != "min" && function.text != "max") {
      static const std::vector<std::string> kFunctions = {"min", "max", "sizeof", "has"};
      return error(fmt::format("a formula has no function {}{}", in_quotes(function.text),
                               must_be_one_of(function.text, kFunctions)),
                   function);
    }
    next_token();
    MGTUNE_TRY(sum());
    if (next_.text != ",") return error(std::string(function.text) + " needs two values", next_);
    while (next_.text == ",") {
      next_token();
      MGTUNE_TRY(sum());
      emit(function.text == "min" ? Op::minimum : Op::maximum);
    }
    return expect(")");
  }

  // sizeof(T), has(x)
  Status fact(const Token& function) {
    next_token();
    const Token about = next_token();
    if (about.kind != Token::Kind::name) {
      return error(fmt::format("{} takes a name", function.text), about);
    }
    const std::size_t end = next_.end();
    MGTUNE_TRY(expect(")"));
    return load(fmt::format("{}({})", function.text, about.text), function, end);
  }

  Status load(std::string_view name, const Token& at, std::size_t end) {
    const std::string wrong = check_name_ ? check_name_(name) : "";
    if (!wrong.empty()) {
      return error(wrong, {at.kind, text_.substr(at.place, end - at.place), at.place});
    }
    emit(Op::load, 0, result_.names_.size());
    result_.names_.push_back({std::string(name), at.place, end});
    return {};
  }

  const MetricFormula::CheckName& check_name_;
  MetricFormula result_;
  std::string_view text_;
  Token next_;
  int nesting_ = 0;
};

Result<MetricFormula> MetricFormula::parse(std::string_view text, const CheckName& check_name) {
  return MetricParser(text, check_name).parse();
}

std::optional<double> MetricFormula::evaluate(const ValueOf& value_of) const {
  std::vector<double> stack;
  for (const Step& step : steps_) {
    if (step.op == Op::push) {
      stack.push_back(step.number);
      continue;
    }
    if (step.op == Op::load) {
      const std::optional<double> value = value_of(names_[step.name].text);
      if (!value) return std::nullopt;
      stack.push_back(*value);
      continue;
    }
    if (step.op == Op::negate) {
      stack.back() = -stack.back();
      continue;
    }
    const double b = stack.back();
    stack.pop_back();
    double& a = stack.back();
    switch (step.op) {
      case Op::add:
        a += b;
        break;
      case Op::subtract:
        a -= b;
        break;
      case Op::multiply:
        a *= b;
        break;
      case Op::divide:
        a /= b;
        break;
      case Op::minimum:
        a = std::min(a, b);
        break;
      default:
        a = std::max(a, b);
        break;
    }
  }
  return std::isfinite(stack.front()) ? std::optional(stack.front()) : std::nullopt;
}

std::optional<double> MetricFormula::evaluate(const VariantWords& variant, double time_ns) const {
  return evaluate([&](std::string_view name) -> std::optional<double> {
    if (name == "ns") return time_ns;
    const std::string* const word = variant.find(name);
    if (word == nullptr) return std::nullopt;
    if (is_boolean(*word)) return *word == "true" ? 1 : 0;
    return parse_number<double>(*word);
  });
}

std::string MetricFormula::with_values(const ValueOf& value_of) const {
  std::string text;
  std::size_t done = 0;
  for (const Name& name : names_) {
    const std::optional<double> value = value_of(name.text);
    if (!value) continue;
    text.append(text_, done, name.begin - done);
    text += *value < 0 ? fmt::format("({})", *value) : fmt::format("{}", *value);
    done = name.end;
  }
  return text.append(text_, done);
}

}  // namespace mgtune
