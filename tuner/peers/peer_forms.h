// The forms of files with times of other implementations. Each form is one file of this folder,
// with two functions. Pure, except for the reader that they add to.

#pragma once

#include <span>
#include <string_view>

#include "core/status.h"
#include "json/json_cursor.h"
#include "peers/peer_reader.h"

namespace mgtune {

struct PeerForm {
  std::string_view name;   // for messages: "nvbench"
  std::string_view signs;  // how people recognise it: "\"devices\" and \"benchmarks\""
  bool (*recognizes)(const JsonCursor& root);
  Status (*read)(const JsonCursor& root, PeerReader& reader);
};

// In the order in which they are tried.
std::span<const PeerForm> peer_forms();

bool is_peers_document(const JsonCursor& root);
Status read_peers_document(const JsonCursor& root, PeerReader& reader);
bool is_peers_run(const JsonCursor& root);
Status read_peers_run(const JsonCursor& root, PeerReader& reader);
bool is_google_benchmark(const JsonCursor& root);
Status read_google_benchmark(const JsonCursor& root, PeerReader& reader);
bool is_nvbench(const JsonCursor& root);
Status read_nvbench(const JsonCursor& root, PeerReader& reader);
bool is_perf_report(const JsonCursor& root);
Status read_perf_report(const JsonCursor& root, PeerReader& reader);
bool is_do_bench(const JsonCursor& root);
Status read_do_bench(const JsonCursor& root, PeerReader& reader);

}  // namespace mgtune
