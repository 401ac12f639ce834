#include "peers/peer_context.h"

#include "peers/utc_time.h"

namespace mgtune {

Status read_utc(const JsonCursor& object, std::string_view key, std::string& out) {
  std::string text;
  MGTUNE_TRY(object.read(key, text));
  if (text.empty()) return {};
  MGTUNE_ASSIGN(out, object.at(key).located(utc_time(text)));
  return {};
}

Status read_context(const JsonCursor& context, PeerRecord& out) {
  MGTUNE_TRY(context.read("gpu", out.gpu));
  MGTUNE_TRY(context.read("driver", out.driver));
  MGTUNE_TRY(context.read("cuda", out.cuda));
  MGTUNE_TRY(context.read("framework", out.framework));
  return read_utc(context, "date", out.measured_at);
}

}  // namespace mgtune
