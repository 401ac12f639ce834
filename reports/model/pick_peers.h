// Peers, which are other implementations, beside the picks: which of the stored times belong to a
// pick, and what is said of them. Pure.
//
// A peer is compared with a pick of the same problem on the same model of GPU. The name of the
// model is all that is known of a peer's GPU. So picks on a part of a GPU (MIG) have no peers, and
// picks of the cpu device have none.

#pragma once

#include <string>
#include <vector>

#include "model/report_model.h"

namespace mgtune {

// Gives each pick of the model its peers. The model's sweeps must be there.
void add_peers(const std::vector<PeerView>& peers, ReportModel& model);

std::string peer_name(const PeerRecord& peer);  // "torch.compile 2.11.0"

// "torch.compile 2.11.0 52.70 us (1.94x)": with the peer's time divided by the pick's.
std::string peer_text(const ReportPick& pick, const PeerRecord& peer);

// A line for each of the five picks that gain most over their fastest peer: "rmsnorm.backward
// rows=4096 hidden=4096 T=bf16 dw=true on NVIDIA H200: 27.13 us; torch.compile 2.11.0 52.70 us
// (1.94x)". If more picks have peers, the last line has the range of all gains.
std::vector<std::string> peer_lines(const ReportModel& model);

// Sentences, each of them once, about what differs between the picks and their peers: the method,
// the date, the GPU.
std::vector<std::string> peer_differences(const ReportModel& model);

}  // namespace mgtune
