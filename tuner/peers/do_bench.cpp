// Results of triton.testing.do_bench() that a program wrote as JSON, in milliseconds: {"NAME":
// TIME}, where NAME says what was timed (benchmark_name.h). TIME is a number, or the list that
// do_bench() returns for quantiles=[0.5, 0.2, 0.8], or a longer list of all samples
// (return_mode="all"). A member "context" may have "gpu", "driver", "cuda", "framework" and "date".

#include <algorithm>
#include <vector>

#include "peers/benchmark_name.h"
#include "peers/peer_context.h"
#include "peers/peer_forms.h"

namespace mgtune {
namespace {

constexpr std::size_t kQuantiles = 3;
constexpr std::string_view kDoBenchUnit = "ms";

bool is_number(const JsonValue& value) {
  return value.kind == JsonValue::Kind::number || value.kind == JsonValue::Kind::integer;
}

bool is_bench_time(const JsonValue& value) {
  if (value.kind != JsonValue::Kind::array) return is_number(value);
  return !value.items.empty() && std::ranges::all_of(value.items, is_number);
}

Status set_quantiles(const JsonCursor& place, const std::vector<double>& times, PeerRecord& peer) {
  peer.median_ns = times[0];
  peer.low_ns = times[1];
  peer.high_ns = times[2];
  if (peer.low_ns <= peer.median_ns && peer.median_ns <= peer.high_ns) return {};
  return place.unexpected("the quantiles 0.5, 0.2 and 0.8, in this order");
}

void set_samples(std::vector<double> times, PeerRecord& peer) {
  std::ranges::sort(times);
  const std::size_t last = times.size() - 1;
  peer.median_ns = (times[last / 2] + times[(last + 1) / 2]) / 2;
  peer.samples = std::ssize(times);
  if (last == 0) return;
  peer.low_ns = times[last / 5];
  peer.high_ns = times[last - last / 5];
}

}  // namespace

bool is_do_bench(const JsonCursor& root) {
  const JsonValue& value = root.value();
  if (value.kind != JsonValue::Kind::object) return false;
  std::size_t times = 0;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (value.keys[i] == "context" && value.items[i].kind == JsonValue::Kind::object) continue;
    if (!is_bench_time(value.items[i])) return false;
    ++times;
  }
  return times > 0;
}

Status read_do_bench(const JsonCursor& root, PeerReader& reader) {
  PeerRecord of_file;
  if (const std::optional<JsonCursor> context = root.find("context")) {
    MGTUNE_TRY(read_context(*context, of_file));
  }
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, root.members());
  for (const JsonCursor& member : members) {
    if (member.value().kind == JsonValue::Kind::object) continue;
    MGTUNE_ASSIGN(BenchmarkName name,
                  member.located(parse_benchmark_name(member.key(), reader.catalog())));
    PeerTime time{std::move(name.op), std::move(name.problem), of_file, "do_bench"};
    time.peer.name = reader.words().name.empty() ? name.peer : reader.words().name;
    time.peer.version = name.version;
    std::vector<double> times;
    if (is_number(member.value())) {
      times = {member.value().number};
    } else {
      for (const JsonValue& item : member.value().items) times.push_back(item.number);
    }
    if (times.size() == kQuantiles) {
      MGTUNE_TRY(set_quantiles(member, times, time.peer));
    } else {
      set_samples(std::move(times), time.peer);
    }
    if (is_number(member.value())) time.peer.samples = 0;  // do_bench() does not say how many
    for (double* each : {&time.peer.median_ns, &time.peer.low_ns, &time.peer.high_ns}) {
      *each = nanoseconds(*each, kDoBenchUnit);
    }
    MGTUNE_TRY(reader.add(member, std::move(time)));
  }
  return {};
}

}  // namespace mgtune
