#include "exchange/json_document.h"

#include <utility>

#include "exchange/gzip.h"

namespace mgtune {
namespace {

// The largest recording that is published (22,000 configurations with 32 samples each) has 60 MB.
constexpr std::size_t kMostBytes = std::size_t{512} << 20U;

}  // namespace

Result<std::string> read_document(FileSystem& files, const std::string& path) {
  MGTUNE_ASSIGN(std::string text, files.read_file(path));
  if (is_gzip(text)) {
    Result<std::string> unpacked = gunzip(text, kMostBytes);
    if (!unpacked.ok()) return std::move(unpacked).take_status().with_context(path);
    return unpacked;
  }
  if (text.size() > kMostBytes) return corrupt(path + ": larger than 512 MiB");
  return text;
}

Result<JsonValue> parse_document(const std::string& path, std::string_view text,
                                 const std::function<bool(std::string_view key)>& wanted) {
  Result<JsonValue> value = parse_json(text, wanted);
  if (!value.ok()) return as_corrupt(std::move(value).take_status()).with_context(path);
  return value;
}

Status as_corrupt(Status failure) {
  if (failure.code() != StatusCode::invalid_argument) return failure;
  return corrupt(failure.message());
}

}  // namespace mgtune
