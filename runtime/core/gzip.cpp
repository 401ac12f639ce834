#include "core/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

namespace mgtune {
namespace {

constexpr int kNoSystem = 255;      // in a header: unknown
constexpr int kMaxMemory = 9;       // for the state of deflate
constexpr int kGzipOnly = 15 + 16;  // window of 32 KiB, gzip's header and checksum

}  // namespace

bool is_gzip(std::string_view content) { return content.starts_with("\x1f\x8b"); }

Result<std::string> gunzip(std::string_view content, std::size_t max_bytes) {
  z_stream stream{};
  if (::inflateInit2(&stream, kGzipOnly) != Z_OK) return internal_error("zlib does not start");
  const std::unique_ptr<z_stream, decltype(&::inflateEnd)> end(&stream, ::inflateEnd);
  std::string text;
  std::array<char, 1 << 16> chunk;
  int state = Z_OK;
  while (true) {
    if (stream.avail_in == 0) {
      const std::size_t part =
          std::min<std::size_t>(content.size(), std::numeric_limits<uInt>::max());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
      stream.avail_in = static_cast<uInt>(part);
      content.remove_prefix(part);
    }
    // A gzip file may have several members, one after the other.
    if (state == Z_STREAM_END) {
      if (stream.avail_in == 0) return text;
      if (::inflateReset(&stream) != Z_OK) return internal_error("zlib does not start again");
    }
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    state = ::inflate(&stream, Z_NO_FLUSH);
    text.append(chunk.data(), chunk.size() - stream.avail_out);
    if (text.size() > max_bytes) {
      return corrupt(fmt::format("unpacks to more than {} MiB", max_bytes >> 20U));
    }
    if (state == Z_OK || state == Z_STREAM_END) continue;
    if (state == Z_BUF_ERROR) return corrupt("the gzip data is cut short");
    return corrupt(fmt::format("damaged gzip data ({})",
                               stream.msg == nullptr ? "no reason given" : stream.msg));
  }
}

Result<std::string> gzip(std::string_view content) {
  if (content.size() > std::numeric_limits<uInt>::max()) {
    return unsupported("more than 4 GiB to compress");
  }
  z_stream stream{};
  if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipOnly, kMaxMemory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
    return internal_error("zlib does not start");
  }
  gz_header header{};
  header.os = kNoSystem;
  ::deflateSetHeader(&stream, &header);
  std::string packed(::deflateBound(&stream, static_cast<uLong>(content.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int state = ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (state != Z_STREAM_END) return internal_error("zlib did not compress everything");
  return packed;
}

}  // namespace mgtune
