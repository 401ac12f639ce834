#include "worker/object_reader.h"

#include <cmath>
#include <limits>

namespace mgtune {

Json number_or_word(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

ObjectReader::ObjectReader(const Json& json, std::string where)
    : json_(json), where_(std::move(where)) {
  if (!json_.is_object()) fail("expected an object");
}

const Json& ObjectReader::value(const char* key) {
  static const Json kNone;
  known_.insert(key);
  if (has(key)) return json_[key];
  fail(std::string("no key \"") + key + '"');
  return kNone;
}

void ObjectReader::read(const char* key, std::string& out) {
  if (const Json& json = value(key); json.is_string()) {
    out = json.get<std::string>();
  } else {
    fail(std::string(key) + ": expected a string");
  }
}

void ObjectReader::read(const char* key, double& out) {
  const Json& json = value(key);
  if (json.is_number()) {
    out = json.get<double>();
  } else if (json == "inf" || json == "-inf") {
    out = json == "inf" ? std::numeric_limits<double>::infinity()
                        : -std::numeric_limits<double>::infinity();
  } else if (json == "nan") {
    out = std::numeric_limits<double>::quiet_NaN();
  } else {
    fail(std::string(key) + ": expected a number");
  }
}

void ObjectReader::fail(const std::string& what) {
  if (failure_.empty()) failure_ = where_ + ": " + what;
}

Status ObjectReader::finish() {
  if (json_.is_object()) {
    for (const auto& [key, value] : json_.items()) {
      if (known_.count(key) == 0) fail("unknown key \"" + key + '"');
    }
  }
  return failure_.empty() ? Status() : corrupt(failure_);
}

void ObjectReader::adopt(ObjectReader& inner) {
  if (const Status status = inner.finish(); !status.ok()) fail(inner.failure_);
}

}  // namespace mgtune
