#include "peers/peer_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "device/gpu_catalog.h"
#include "family/problem.h"
#include "peers/utc_time.h"
#include "results/result_words.h"

namespace mgtune {
namespace {

constexpr std::size_t kLongestWord = 200;
constexpr double kLongestNs = 1e15;  // 11 days; a longer time has a wrong unit

std::string lower_case(std::string word) {
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word;
}

// Our word for a dtype: "bf16" for "bfloat16". The word itself if it is not another name of a
// dtype.
std::string dtype_word(const std::string& word) {
  static const std::map<std::string, std::string> kWords = {
      {"bfloat16", "bf16"},       {"__nv_bfloat16", "bf16"}, {"half", "f16"},
      {"__half", "f16"},          {"fp16", "f16"},           {"float16", "f16"},
      {"float", "f32"},           {"fp32", "f32"},           {"float32", "f32"},
      {"torch.bfloat16", "bf16"}, {"torch.float16", "f16"},  {"torch.float32", "f32"}};
  const std::string lower = lower_case(word);
  const auto found = kWords.find(lower);
  return found == kWords.end() ? lower : found->second;
}

// The names that drivers report for the product that `word` means.
std::vector<std::string> driver_names(const std::vector<GpuProduct>& products,
                                      const std::string& word) {
  std::vector<std::string> names;
  for (const GpuProduct& product : products) {
    if (!product.is_called(word)) continue;
    std::ranges::copy_if(product.aliases, std::back_inserter(names),
                         [](const std::string& alias) { return alias.starts_with("NVIDIA "); });
  }
  return names;
}

Result<std::string> driver_name(const std::string& word) {
  if (word.empty() || word.starts_with("NVIDIA ") || word.starts_with("Tesla ")) return word;
  if (same_word(word, "cpu")) {
    return invalid_argument(
        "--gpu cpu: the cpu device emulates a GPU, and its times are never compared with those of "
        "other implementations. Name the GPU that they were timed on");
  }
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  const std::vector<std::string> names = driver_names(products, word);
  if (names.size() == 1) return names.front();
  if (names.empty()) {
    return invalid_argument(
        fmt::format("--gpu {}: no GPU is called so{}. Another one needs the name that the driver "
                    "reports, which "
                    "begins with NVIDIA",
                    word, gpu_suggestion(word, products, {})));
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
  return invalid_argument(fmt::format("--gpu {} may be one of {}: say which", word, list));
}

Status check_length(const JsonCursor& place, const PeerRecord& peer) {
  Status status;
  for_each_column(peer, [&](const auto& field, const auto& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>) {
      const bool is_control =
          std::ranges::any_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
      if (status.ok() && (value.size() > kLongestWord || is_control)) {
        status = place.error(fmt::format("the {} must be printable and have at most {} bytes",
                                         field.name, kLongestWord));
      }
    }
  });
  return status;
}

Status check_time(const JsonCursor& place, PeerRecord& peer) {
  if (!std::isfinite(peer.median_ns) || peer.median_ns <= 0) {
    return place.error("expected a time above 0");
  }
  if (peer.median_ns > kLongestNs) {
    return place.error(
        fmt::format("{:.3g} s is no time of a kernel: is the unit right?", peer.median_ns / 1e9));
  }
  const bool is_spread = std::isfinite(peer.low_ns) && std::isfinite(peer.high_ns) &&
                         peer.low_ns <= peer.high_ns && peer.high_ns > 0;
  if (!is_spread) peer.low_ns = peer.high_ns = 0;
  peer.low_ns = std::max(peer.low_ns, 0.0);
  peer.samples = std::max<std::int64_t>(peer.samples, 0);
  return {};
}

std::string identity_of(const PeerView& view) {
  const PeerRecord& peer = view.peer;
  std::string key;
  for (const std::string* part : {&view.op, &view.problem, &peer.gpu, &peer.name, &peer.version,
                                  &peer.method, &peer.driver, &peer.cuda, &peer.framework}) {
    key += *part + '\n';
  }
  return key;
}

// The run with the median time. It gets the samples of all runs and the date of the newest one.
PeerView middle_of(std::vector<PeerView> runs) {
  std::ranges::sort(runs, {}, [](const PeerView& view) { return view.peer.median_ns; });
  PeerView middle = runs[(runs.size() - 1) / 2];
  middle.peer.samples = 0;
  for (const PeerView& run : runs) {
    middle.peer.samples += run.peer.samples;
    middle.peer.measured_at = std::max(middle.peer.measured_at, run.peer.measured_at);
  }
  return middle;
}

}  // namespace

Result<PeerWords> checked_words(PeerWords words) {
  MGTUNE_ASSIGN(words.gpu, driver_name(words.gpu));
  if (!words.measured_at.empty()) {
    const Result<std::string> time = utc_time(words.measured_at);
    if (!time.ok())
      return invalid_argument("--date " + words.measured_at + ": " + time.status().message());
    words.measured_at = *time;
  }
  if (!words.method.empty() && (!is_identifier(words.method) || words.method == "emulation")) {
    return invalid_argument("--method " + words.method +
                            ": expected a word such as graph, rotating or cuda_events");
  }
  return words;
}

void PeerReader::begin_file(const std::string& path) { path_ = path; }

Status PeerReader::lacks(const JsonCursor& place, std::string_view what) {
  needs_words_ = true;
  return place.error(what);
}

Status PeerReader::fill(const JsonCursor& place, std::string_view option, const std::string& word,
                        std::string& text) {
  if (word.empty() || word == text) return {};
  if (text.empty()) {
    text = word;
    return {};
  }
  needs_words_ = true;
  return place.error(fmt::format("the file says '{}', but {} says '{}'", text, option, word));
}

Status PeerReader::add_problem(const JsonCursor& place, PeerTime& time) {
  const Result<const Operator*> found = catalog_.find_operator(time.op);
  if (!found.ok()) {
    return place.error(found.status().message() + "; --kernel FOLDER reads a family of your own");
  }
  const Operator& op = **found;
  const auto is_dtype = [&](const std::string& name) {
    return std::ranges::find(op.dtypes, name, &DTypeVariable::name) != op.dtypes.end();
  };
  if (const auto dtype = time.problem.find("dtype");
      dtype != time.problem.end() && !op.dtypes.empty() && !is_dtype("dtype")) {
    time.problem.emplace(op.dtypes.front().name, dtype->second);
    time.problem.erase("dtype");
  }
  for (const auto& [name, value] : words_.problem) {
    std::string& known = time.problem[name];
    MGTUNE_TRY(fill(place, "--problem " + name, value, known));
  }
  for (auto& [name, value] : time.problem) {
    if (is_dtype(name)) value = dtype_word(value);
  }
  const Result<Problem> problem = bind_problem(op, time.problem);
  if (!problem.ok()) {
    return lacks(place,
                 problem.status().message() + "; --problem adds values that the file does not say");
  }
  PeerView view;
  view.op = op.full_name();
  view.problem = problem->text();
  MGTUNE_ASSIGN(const std::int64_t bytes, place.located(op.bytes.evaluate(problem->slots)));
  MGTUNE_ASSIGN(const std::int64_t flops, place.located(op.flops.evaluate(problem->slots)));
  view.bytes = static_cast<double>(bytes);
  view.flops = static_cast<double>(flops);
  view.peer = std::move(time.peer);
  view.peer.source = path_;
  std::vector<PeerView>& runs = runs_[identity_of(view)];
  if (!runs.empty() && runs.back().peer.source == path_) {
    return place.error(fmt::format("a second time of {} for {} {}; each time must be there once",
                                   view.peer.name, view.op, view.problem));
  }
  runs.push_back(std::move(view));
  return {};
}

Status PeerReader::add(const JsonCursor& place, PeerTime time) {
  PeerRecord& peer = time.peer;
  MGTUNE_TRY(fill(place, "--operator", words_.op, time.op));
  if (time.op.empty()) {
    return lacks(place,
                 "the operator is not known: --operator NAME says it, for example "
                 "--operator rmsnorm.forward");
  }
  if (peer.name.empty()) peer.name = words_.name;
  if (peer.name.empty()) {
    return lacks(place, "the implementation has no name: --name says it, for example --name liger");
  }
  MGTUNE_TRY(fill(place, "--peer-version", words_.version, peer.version));
  MGTUNE_TRY(fill(place, "--gpu", words_.gpu, peer.gpu));
  if (peer.gpu.empty()) {
    return lacks(place, "the GPU is not known: --gpu says it, for example --gpu H200");
  }
  MGTUNE_TRY(fill(place, "--method", words_.method, peer.method));
  if (peer.method.empty()) peer.method = time.usual_method;
  if (!is_identifier(peer.method) || peer.method == "emulation") {
    return lacks(
        place, fmt::format("'{}' is no method of timing on a GPU: --method says it", peer.method));
  }
  MGTUNE_TRY(fill(place, "--driver", words_.driver, peer.driver));
  MGTUNE_TRY(fill(place, "--cuda", words_.cuda, peer.cuda));
  MGTUNE_TRY(fill(place, "--framework", words_.framework, peer.framework));
  MGTUNE_TRY(fill(place, "--date", words_.measured_at, peer.measured_at));
  MGTUNE_TRY(check_length(place, peer));
  MGTUNE_TRY(check_time(place, peer));
  return add_problem(place, time);
}

std::vector<PeerView> PeerReader::peers() const {
  std::vector<PeerView> peers;
  peers.reserve(runs_.size());
  for (const auto& [identity, runs] : runs_) peers.push_back(middle_of(runs));
  return peers;
}

double nanoseconds(double time, std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  const auto found = std::ranges::find(kUnits, unit, &std::pair<std::string_view, double>::first);
  return found == kUnits.end() ? 0 : time * found->second;
}

}  // namespace mgtune
