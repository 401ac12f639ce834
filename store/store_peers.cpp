// Writes and reads the times of other implementations.

#include "database/database.h"
#include "database/row.h"
#include "store/store.h"
#include "store/transaction.h"
#include "store/write.h"

namespace mgtune {
namespace {

PeerView read_peer(Row& row) {
  PeerView view;
  row.read(view.op, view.problem, view.bytes, view.flops, view.peer);
  return view;
}

}  // namespace

Result<PeerCounts> Store::import_peers(const std::vector<PeerView>& peers) {
  PeerCounts counts;
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  for (const PeerView& view : peers) {
    MGTUNE_ASSIGN(const std::int64_t problem,
                  problem_id(view.op, view.problem, view.bytes, view.flops));
    const PeerRecord& peer = view.peer;
    const TableRow identity = {{"problem", problem},          {"gpu", peer.gpu},
                               {"name", peer.name},           {"version", peer.version},
                               {"method", peer.method},       {"measured_at", peer.measured_at},
                               {"driver", peer.driver},       {"cuda", peer.cuda},
                               {"framework", peer.framework}, {"median_ns", peer.median_ns}};
    MGTUNE_ASSIGN(const std::optional<std::int64_t> known, identity.find(*database_, "peers"));
    if (known) {
      ++counts.known;
      continue;
    }
    ++counts.added;
    MGTUNE_TRY(TableRow({{"problem", problem}})
                   .add(peer)
                   .insert(*database_, "INSERT INTO peers")
                   .status());
  }
  MGTUNE_TRY(transaction.commit());
  return counts;
}

Result<std::vector<PeerView>> Store::peers(const std::string& op) {
  return read_all(*database_, read_peer,
                  "SELECT op, text, bytes, flops, " + columns_of<PeerRecord>("e") +
                      " FROM (SELECT o.name AS op, p.text, p.bytes, p.flops, r.*, row_number() OVER"
                      " (PARTITION BY r.problem, r.gpu, r.name, r.version, r.method"
                      " ORDER BY r.measured_at DESC, r.id DESC) AS age"
                      " FROM peers r JOIN problems p ON p.id = r.problem"
                      " JOIN operators o ON o.id = p.operator WHERE ?1 = '' OR o.name = ?1) e"
                      " WHERE e.age = 1 ORDER BY op, e.problem, e.gpu, e.median_ns, e.name, e.id",
                  op);
}

}  // namespace mgtune
