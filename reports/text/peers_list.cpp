#include "text/peers_list.h"

#include <algorithm>
#include <span>

#include "json/json.h"
#include "store/record_json.h"
#include "text/printable.h"
#include "text/text_table.h"
#include "text/units.h"

namespace mgtune {
namespace {

std::string spread_text(const PeerRecord& peer) {
  if (peer.high_ns <= 0) return "";
  return time_text(peer.low_ns) + " .. " + time_text(peer.high_ns);
}

// "driver 580, CUDA 13.0, torch 2.11.0"
std::string environment_of(const PeerRecord& peer) {
  std::string text;
  const auto add = [&](const std::string& what, const std::string& value) {
    if (!value.empty()) text += (text.empty() ? "" : ", ") + what + value;
  };
  add("driver ", peer.driver);
  add("CUDA ", peer.cuda);
  add("", peer.framework);
  return text;
}

bool is_in_one_table(const PeerView& a, const PeerView& b) {
  return a.op == b.op && a.peer.gpu == b.peer.gpu;
}

std::string table_of_peers(std::span<const PeerView> peers) {
  TextTable table({{"problem"},
                   {"implementation"},
                   {"version"},
                   {"time", TextTable::Align::right},
                   {"spread", TextTable::Align::right},
                   {"method"},
                   {"date"},
                   {"environment"},
                   {"from"}});
  for (const PeerView& view : peers) {
    const PeerRecord& peer = view.peer;
    table.add_row({view.problem, peer.name, peer.version, time_text(peer.median_ns),
                   spread_text(peer), peer.method,
                   peer.measured_at.substr(0, peer.measured_at.find('T')), environment_of(peer),
                   peer.source});
  }
  const PeerView& first = peers.front();
  return printable_line(first.op + " on " + first.peer.gpu) + "\n" + table.text(2);
}

}  // namespace

std::string peers_table(const std::vector<PeerView>& peers) {
  if (peers.empty()) {
    return "No times of other implementations. mgtune peers import FILE.json adds some; mgtune "
           "peers --help says which files it reads.\n";
  }
  std::vector<PeerView> sorted = peers;
  std::ranges::stable_sort(sorted, [](const PeerView& a, const PeerView& b) {
    return a.op != b.op ? a.op < b.op : a.peer.gpu < b.peer.gpu;
  });
  std::string text;
  for (std::span<const PeerView> rest = sorted; !rest.empty();) {
    const auto end = std::ranges::find_if(
        rest, [&](const PeerView& view) { return !is_in_one_table(view, rest.front()); });
    const auto count = static_cast<std::size_t>(end - rest.begin());
    text += (text.empty() ? "" : "\n") + table_of_peers(rest.first(count));
    rest = rest.subspan(count);
  }
  return text;
}

std::string peers_json(const std::vector<PeerView>& peers) {
  const auto row_of = [](const PeerView& view) {
    Json row = {{"operator", view.op}, {"problem", view.problem}};
    row.update(record_json(view.peer));
    return row;
  };
  return Json({{"format", 1}, {"peers", Json::array(peers, row_of)}}).document_text();
}

}  // namespace mgtune
