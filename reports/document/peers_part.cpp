// Times of other implementations for the problems that have a pick.

#include "document/document_parts.h"
#include "model/pick_peers.h"

namespace mgtune {

Json peers_part(const DocumentInput& input) {
  Json peers = Json::array();
  std::size_t last = input.model.problems.size();
  for (const ReportPick& pick : input.model.picks) {
    if (pick.problem == last) continue;  // picks of one problem by several methods have the same
    last = pick.problem;
    for (const PeerRecord& peer : pick.peers) {
      peers.push_back({{"gpu", input.index.gpu(pick.view.gpu)},
                       {"operator", pick.view.op},
                       {"problem", pick.view.problem},
                       {"method", peer.method},
                       {"name", peer.name},
                       {"version", peer.version},
                       {"median_ns", number(peer.median_ns)},
                       {"low_ns", known_time(peer.low_ns)},
                       {"high_ns", known_time(peer.high_ns)},
                       {"measured_at", peer.measured_at}});
    }
  }
  return peers;
}

}  // namespace mgtune
