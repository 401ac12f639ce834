// mgtune's own form, for programs that know the operators (results/h200 has such a file):
//
//   {"format": 1, "gpu": "NVIDIA H200", "driver": "580.159.04", "cuda": "13.0",
//    "framework": "torch 2.11.0", "measured_at": "2026-11-23T09:00:00Z",
//    "peers": [{"name": "torch.compile", "version": "2.11.0", "operator": "rmsnorm.backward",
//               "problem": {"rows": 4096, "hidden": 4096, "T": "bf16", "dw": true},
//               "method": "graph", "median_ns": 52700, "low_ns": 52600, "high_ns": 52900,
//               "samples": 63}]}

#include "family/problem.h"
#include "peers/peer_context.h"
#include "peers/peer_forms.h"

namespace mgtune {
namespace {

constexpr std::int64_t kPeersFormat = 1;

Status read_peer_problem(const JsonCursor& problem, ProblemValues& values) {
  if (problem.value().kind == JsonValue::Kind::string) {
    MGTUNE_ASSIGN(values, problem.located(parse_assignments(problem.value().string)));
    return {};
  }
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, problem.members());
  for (const JsonCursor& member : members) {
    MGTUNE_ASSIGN(values[member.key()], member.word());
  }
  return {};
}

Status read_row(const JsonCursor& row, const PeerRecord& of_file, PeerReader& reader) {
  MGTUNE_TRY(row.expect_keys({"name", "operator", "problem", "median_ns"},
                             {"version", "method", "low_ns", "high_ns", "samples"}));
  PeerTime time;
  time.peer = of_file;
  time.usual_method = "graph";
  MGTUNE_TRY(row.read("operator", time.op));
  MGTUNE_TRY(read_peer_problem(row.at("problem"), time.problem));
  MGTUNE_TRY(row.read("name", time.peer.name));
  MGTUNE_TRY(row.read("version", time.peer.version));
  MGTUNE_TRY(row.read("method", time.peer.method));
  MGTUNE_ASSIGN(time.peer.median_ns, row.at("median_ns").number());
  MGTUNE_TRY(row.read("low_ns", time.peer.low_ns));
  MGTUNE_TRY(row.read("high_ns", time.peer.high_ns));
  MGTUNE_TRY(row.read("samples", time.peer.samples));
  return reader.add(row, std::move(time));
}

}  // namespace

bool is_peers_document(const JsonCursor& root) { return root.find("peers").has_value(); }

Status read_peers_document(const JsonCursor& root, PeerReader& reader) {
  MGTUNE_TRY(
      root.expect_keys({"format", "peers"}, {"gpu", "driver", "cuda", "framework", "measured_at"}));
  MGTUNE_ASSIGN(const std::int64_t format, root.at("format").integer());
  if (format != kPeersFormat) {
    return incompatible(root.at("format").unexpected("1, as no later format is known").message());
  }
  PeerRecord of_file;
  MGTUNE_TRY(root.read("gpu", of_file.gpu));
  MGTUNE_TRY(root.read("driver", of_file.driver));
  MGTUNE_TRY(root.read("cuda", of_file.cuda));
  MGTUNE_TRY(root.read("framework", of_file.framework));
  MGTUNE_TRY(read_utc(root, "measured_at", of_file.measured_at));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> rows, root.at("peers").elements());
  for (const JsonCursor& row : rows) MGTUNE_TRY(read_row(row, of_file, reader));
  return {};
}

}  // namespace mgtune
