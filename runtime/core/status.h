// Status and Result<T>: every function here reports failure by them. No mgtune code throws. If a
// third-party library throws, the exception is caught where that library is called.
//
// A Status is one pointer wide and costs nothing when it is ok. Both types are plain values: if
// several threads use the same object, the caller must synchronize them.

#pragma once

#include <cassert>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace mgtune {

enum class StatusCode {
  ok,
  invalid_argument,  // the caller's input is wrong: a name, a number, a malformed operator file
  not_found,         // a well-formed name of something that does not exist
  environment,       // the machine has no such GPU, driver or compiler
  corrupt,           // the content of a file is damaged
  incompatible,      // a file of a newer or unknown format
  io,                // the operating system reported an error; the message has path and errno text
  compile_failed,
  launch_failed,
  timeout,
  device_lost,  // this process can run nothing more on this device
  unsupported,  // valid, but not on this device or in this build
  internal,     // a bug of mgtune
};

std::string_view to_string(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(StatusCode code, std::string message)
      : failure_(std::make_unique<Failure>(Failure{code, std::move(message)})) {
    assert(code != StatusCode::ok);
  }

  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  Status(const Status& other)
      : failure_(other.failure_ ? std::make_unique<Failure>(*other.failure_) : nullptr) {}
  Status& operator=(const Status& other) {
    if (this != &other) *this = Status(other);
    return *this;
  }
  ~Status() = default;

  bool ok() const { return failure_ == nullptr; }
  StatusCode code() const { return failure_ ? failure_->code : StatusCode::ok; }
  const std::string& message() const;  // empty when ok

  // The same failure with "context: " in front of its message. An ok status stays ok.
  Status with_context(std::string_view context) &&;

 private:
  struct Failure {
    StatusCode code;
    std::string message;
  };
  std::unique_ptr<Failure> failure_;
};

inline Status invalid_argument(std::string message) {
  return {StatusCode::invalid_argument, std::move(message)};
}
inline Status not_found(std::string message) { return {StatusCode::not_found, std::move(message)}; }
inline Status environment_error(std::string message) {
  return {StatusCode::environment, std::move(message)};
}
inline Status corrupt(std::string message) { return {StatusCode::corrupt, std::move(message)}; }
inline Status incompatible(std::string message) {
  return {StatusCode::incompatible, std::move(message)};
}
inline Status io_error(std::string message) { return {StatusCode::io, std::move(message)}; }
inline Status unsupported(std::string message) {
  return {StatusCode::unsupported, std::move(message)};
}
inline Status internal_error(std::string message) {
  return {StatusCode::internal, std::move(message)};
}

// Either a T, or the Status that says why there is no T.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {
    assert(!std::get<1>(state_).ok());
  }

  bool ok() const { return state_.index() == 0; }
  Status status() const { return ok() ? Status() : std::get<1>(state_); }
  Status take_status() && { return ok() ? Status() : std::move(std::get<1>(state_)); }

  // Only when ok().
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T value() && { return std::get<0>(std::move(state_)); }  // by value: `for (x : *f())` is safe
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace mgtune

#define MGTUNE_CONCAT_INNER(a, b) a##b
#define MGTUNE_CONCAT(a, b) MGTUNE_CONCAT_INNER(a, b)

// MGTUNE_TRY(f());          returns f()'s Status from the enclosing function unless it is ok.
#define MGTUNE_TRY(expression)                                                                    \
  do {                                                                                            \
    if (::mgtune::Status mgtune_status = (expression); !mgtune_status.ok()) return mgtune_status; \
  } while (false)

// MGTUNE_ASSIGN(auto x, f()); does the same for a Result<T>, and on success sets x to its value.
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses.
#define MGTUNE_ASSIGN(declaration, expression) \
  MGTUNE_ASSIGN_NAMED(MGTUNE_CONCAT(mgtune_result_, __LINE__), declaration, expression)
#define MGTUNE_ASSIGN_NAMED(name, declaration, expression) \
  auto name = (expression);                                \
  if (!name.ok()) return std::move(name).take_status();    \
  declaration = std::move(name).value()
// NOLINTEND(bugprone-macro-parentheses)
