// Reads files with times of other implementations, in any form of peer_forms.h. The content decides
// the form. Files may be gzipped.
//
// io if a file cannot be read. corrupt, with file and place, if a file has none of the forms, or if
// something in it is wrong. invalid_argument if the file is right but the user has to say more, for
// example the GPU. One thread per call, and per catalog.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/catalog.h"
#include "peers/peer_reader.h"
#include "store/views.h"
#include "system/file_system.h"

namespace mgtune {

struct ReadPeers {
  std::vector<PeerView> peers;
  std::map<std::string, std::int64_t> left_out;  // by reason: how many rows
};

// Nothing is returned unless all files are right.
Result<ReadPeers> read_peers(FileSystem& files, const std::vector<std::string>& paths,
                             const PeerWords& words, Catalog& catalog);

}  // namespace mgtune
