// What a script that times several implementations writes for scripts/compare_with_peers.py
// --peers, one file per run:
//
//   {"meta": {"gpu": "NVIDIA H200", "torch": "2.11.0", "triton": "3.6.0", "cuda": "13.0"},
//    "results": [{"op": "rmsnorm_bwd", "dtype": "bf16", "shape": "4096x4096", "impl": "compile",
//                 "status": "ok", "method": "graph", "us": 52.7, "us_p20": 52.6, "us_p80": 52.9}]}
//
// Rows of mgtune itself are left out, and rows without a time.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "peers/peer_context.h"
#include "peers/peer_forms.h"

namespace mgtune {
namespace {

// The operations of such scripts, and which optional tensors they compute.
struct PeerOperation {
  std::string_view name, op, optional;
};
constexpr std::array<PeerOperation, 7> kPeerOperations = {{
    {"rmsnorm_fwd", "rmsnorm.forward", ""},
    {"add_rmsnorm_fwd", "rmsnorm.add_forward", ""},
    {"rmsnorm_bwd", "rmsnorm.backward", "dw"},
    {"add_rmsnorm_bwd", "rmsnorm.add_backward", "dw"},
    {"swiglu_fwd", "swiglu.forward", ""},
    {"swiglu_packed_fwd", "swiglu.packed_forward", ""},
    {"swiglu_bwd", "swiglu.backward", ""},
}};

// What the whole file says.
struct RunMeta {
  PeerRecord record;
  std::string torch;  // the version
};

Result<RunMeta> read_meta(const JsonCursor& root) {
  RunMeta meta;
  const std::optional<JsonCursor> object = root.find("meta");
  if (!object) return meta;
  std::string triton;
  MGTUNE_TRY(object->read("gpu", meta.record.gpu));
  MGTUNE_TRY(object->read("cuda", meta.record.cuda));
  MGTUNE_TRY(object->read("driver", meta.record.driver));
  MGTUNE_TRY(object->read("torch", meta.torch));
  MGTUNE_TRY(object->read("triton", triton));
  MGTUNE_TRY(read_utc(*object, "measured_at", meta.record.measured_at));
  if (!meta.torch.empty()) meta.record.framework = "torch " + meta.torch;
  if (!triton.empty() && triton.size() < 40) meta.record.framework += ", triton " + triton;
  return meta;
}

// Names of PyTorch's own implementations in such scripts; "" for others.
std::string torch_name(const std::string& name) {
  if (name == "compile" || name == "torch.compile") return "torch.compile";
  return name == "eager" || name.starts_with("F.") ? name : "";
}

Status read_shape(const JsonCursor& shape, ProblemValues& problem) {
  MGTUNE_ASSIGN(const std::string text, shape.string());
  const std::size_t sign = text.find('x');
  const std::string rows = text.substr(0, sign);
  const std::string hidden = sign == std::string::npos ? "" : text.substr(sign + 1);
  if (!whole_number(rows) || !whole_number(hidden)) {
    return shape.unexpected("rows and hidden size such as \"4096x8192\"");
  }
  problem["rows"] = rows;
  problem["hidden"] = hidden;
  return {};
}

Status read_run_row(const JsonCursor& row, const RunMeta& meta, PeerReader& reader) {
  std::string status = "ok", name, operation;
  MGTUNE_TRY(row.read("status", status));
  MGTUNE_TRY(row.read("impl", name));
  if (name == "mgtune") {
    reader.leave_out("of mgtune itself");
    return {};
  }
  if (status != "ok") {
    reader.leave_out("without a time");
    return {};
  }
  if (!row.find("op") || !row.find("shape") || !row.find("dtype") || !row.find("us")) {
    return row.unexpected("an object with op, shape, dtype, impl and us");
  }
  MGTUNE_TRY(row.read("op", operation));
  const auto known = std::ranges::find(kPeerOperations, operation, &PeerOperation::name);
  if (known == kPeerOperations.end()) {
    reader.leave_out("of the operation " + operation + ", which mgtune does not have");
    return {};
  }
  PeerTime time;
  time.op = known->op;
  time.usual_method = "graph";
  time.peer = meta.record;
  time.peer.name = torch_name(name).empty() ? name : torch_name(name);
  if (!torch_name(name).empty()) time.peer.version = meta.torch;
  MGTUNE_TRY(read_shape(row.at("shape"), time.problem));
  MGTUNE_TRY(row.read("dtype", time.problem["dtype"]));
  if (!known->optional.empty()) time.problem[std::string(known->optional)] = "true";
  MGTUNE_TRY(row.read("method", time.peer.method));
  MGTUNE_ASSIGN(time.peer.median_ns, row.at("us").number());
  MGTUNE_TRY(row.read("us_p20", time.peer.low_ns));
  MGTUNE_TRY(row.read("us_p80", time.peer.high_ns));
  MGTUNE_TRY(row.read("reps", time.peer.samples));
  for (double* value : {&time.peer.median_ns, &time.peer.low_ns, &time.peer.high_ns}) {
    *value = nanoseconds(*value, "us");
  }
  return reader.add(row, std::move(time));
}

}  // namespace

bool is_peers_run(const JsonCursor& root) {
  const std::optional<JsonCursor> results = root.find("results");
  if (!results || results->value().kind != JsonValue::Kind::array) return false;
  const std::vector<JsonValue>& rows = results->value().items;
  return !rows.empty() && rows.front().find("op") != nullptr &&
         rows.front().find("impl") != nullptr;
}

Status read_peers_run(const JsonCursor& root, PeerReader& reader) {
  MGTUNE_ASSIGN(const RunMeta meta, read_meta(root));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> rows, root.at("results").elements());
  for (const JsonCursor& row : rows) MGTUNE_TRY(read_run_row(row, meta, reader));
  return {};
}

}  // namespace mgtune
