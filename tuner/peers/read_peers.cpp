#include "peers/read_peers.h"

#include <algorithm>
#include <array>

#include "exchange/read_document.h"
#include "peers/peer_forms.h"

namespace mgtune {
namespace {

constexpr std::array<PeerForm, 6> kForms = {{
    {"mgtune", "\"peers\"", is_peers_document, read_peers_document},
    {"a run of peers", "\"results\" with \"op\" and \"impl\"", is_peers_run, read_peers_run},
    {"Google Benchmark", "\"context\" and \"benchmarks\"", is_google_benchmark,
     read_google_benchmark},
    {"nvbench", "\"devices\" and \"benchmarks\"", is_nvbench, read_nvbench},
    {"triton perf_report", "rows or columns of a data frame", is_perf_report, read_perf_report},
    {"triton do_bench", "a time for each name", is_do_bench, read_do_bench},
}};

std::string all_forms() {
  std::string list;
  for (const PeerForm& form : kForms) {
    list.append(list.empty() ? "" : "; ")
        .append(form.name)
        .append(" (")
        .append(form.signs)
        .append(")");
  }
  return list;
}

Status read_peers_of(FileSystem& files, const std::string& path, PeerReader& reader) {
  MGTUNE_ASSIGN(const std::string text, read_document(files, path));
  MGTUNE_ASSIGN(const JsonValue value, parse_document(path, text));
  const JsonCursor root(path, value);
  const auto form =
      std::ranges::find_if(kForms, [&](const PeerForm& each) { return each.recognizes(root); });
  if (form == kForms.end()) {
    return corrupt(
        path + ": no times of other implementations. Expected one of these forms: " + all_forms());
  }
  reader.begin_file(path);
  const Status status = form->read(root, reader);
  return status.ok() || reader.needs_words() ? status : as_corrupt(status);
}

}  // namespace

std::span<const PeerForm> peer_forms() { return kForms; }

Result<ReadPeers> read_peers(FileSystem& files, const std::vector<std::string>& paths,
                             const PeerWords& words, Catalog& catalog) {
  PeerReader reader(words, catalog);
  for (const std::string& path : paths) MGTUNE_TRY(read_peers_of(files, path, reader));
  return ReadPeers{reader.peers(), reader.left_out()};
}

}  // namespace mgtune
