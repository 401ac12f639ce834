// A worker that misbehaves on command: what it does for a request stands in the request's variant,
// or, of a ceiling and a final, in the device that it was started for: "GPU-1 fp32: crash" crashes
// at the ceiling fp32, "GPU-1 final: crash" in a final. Any other variant compiles, and passes with
// the same time. Started as `fake_worker dead` it goes before it reads anything, and so it does as
// the measure worker of a GPU whose id has "sick" in it, or "frail" once the file that
// FAKE_WORKER_HARM names is there: the variant "harms" makes it, and crashes.
//
// It passes a probe, except while the file that FAKE_WORKER_NO_HEADERS names is there: then nothing
// compiles. After the variant "loses its folder" one process compiles nothing any more, unless it
// had served nothing before. FAKE_WORKER_BROKEN: variants that contain this text do not compile.
// FAKE_WORKER_KILLED: measure workers are killed at the variants that contain this text; if it is
// "everything", also at a probe.
//
// FAKE_WORKER_LOG names a file: a line as a compile, measurement, ceiling or final begins, and one
// as it is done. FAKE_WORKER_FINAL_AFTER: a final ends only when the log has so many lines with a
// text, for example "4 measure is done", or after five minutes; FAKE_WORKER_CEILING_AFTER:
// likewise, of a ceiling. FAKE_WORKER_COMPILE_GATE and FAKE_WORKER_MEASURE_GATE name folders: a
// worker puts a file there and goes on when somebody has removed it, or after five minutes. While
// it waits, a measure worker says that it runs the reference: nobody takes the time of that for a
// variant's. FAKE_WORKER_STARTS names a file: a line for each process, with its device.
// FAKE_WORKER_COMPILE_AFTER_START names a device: a compile ends when that file says that a worker
// of this device was started, and fails if it does not after five minutes.
// FAKE_WORKER_COMPILE_SECONDS: how long a compiler says that it took for each variant. A process
// says nothing of a variant that was among the others of a request: it has the build.
// FAKE_WORKER_WRONG names a problem and a variant, which is wrong there, "rows=4,T=f32 VARIANT".
// FAKE_WORKER_COOL names the variant that takes 1,000 ns at 1,980 MHz; the others take 1,200 ns at
// 1,500 MHz.
// FAKE_WORKER_LONG: variants that contain this text take a minute, as they say.
// FAKE_WORKER_GROUPS names a file: a line for each request with others, "first + other + other". A
// request does what the others say, too, if that goes wrong: see kTrouble.
// FAKE_WORKER_CORES names a file: a line for each process, with its kind and its cores.
// FAKE_WORKER_COMPILE_MS and FAKE_WORKER_MEASURE_MS say how long they take. FAKE_WORKER_FAST names
// the one variant that is measured to be faster than the others, FAKE_WORKER_SAME_CODE a parameter
// that changes nothing in builds, FAKE_WORKER_SAME_MACHINE_CODE one that changes nothing but the
// names of kernels, FAKE_WORKER_NOT_CACHED why the cache keeps no build,
// FAKE_WORKER_SECONDS how long a measurement says that it took. With FAKE_WORKER_SPREAD variants
// are as they are on a GPU: builds have a log, and a time that depends on the variant's text is up
// to three times as long as the shortest, and lost the race if the request's limit is below it.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <variant>
#include <vector>

#include "system/cores.h"
#include "system/utc_now.h"
#include "worker/protocol.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

constexpr char kAsanReport[] = R"(served one request before
=================================================================
==42==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000110 at pc 0x7f11 bp 0x7f22
WRITE of size 4 at 0x602000000110 thread T1
    #0 0x7f11 in void vector_add<float, 4>(float const*, float*, long) /tmp/vector_add.cu:17
    #1 0x7f12 in run_thread /tmp/scheduler.cpp:88
    #2 0x7f13 in run_block /tmp/scheduler.cpp:120
    #3 0x7f14 in worker_main /tmp/pool.cpp:40

0x602000000110 is located 0 bytes to the right of 16-byte region [0x602000000100,0x602000000110)
allocated by thread T0 here:
    #0 0x7f15 in posix_memalign (/lib/libasan.so.8+0xb9)

SUMMARY: AddressSanitizer: heap-buffer-overflow /tmp/vector_add.cu:17 in vector_add<float, 4>
Shadow bytes around the buggy address:
  0x0c047fff7fd0: fa fa fa fa fa fa fa fa fa fa fa fa fa fa fa fa
==42==ABORTING
)";

void say(const std::string& line) { std::cout << line << std::endl; }

[[noreturn]] void hang() {
  while (true) ::pause();
}

bool has_folder = true;
std::string own_device;  // "" unless started as `fake_worker worker KIND DEVICE ...`

void begin(std::int64_t id) {
  WorkReply reply;
  reply.kind = WorkReply::Kind::begin;
  reply.id = id;
  say(encode(reply));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// "rows=4,hidden=64,T=f32"; "none" if the request names no problem.
std::string problem_of(const WorkRequest& request) {
  std::string text = std::visit(
      []<typename Kind>(const Kind& work) -> std::string {
        if constexpr (std::is_base_of_v<NamedProblem, Kind>) return work.problem;
        return "";
      },
      request.work);
  std::ranges::replace(text, ' ', ',');
  return text.empty() ? "none" : text;
}

// "measure begins 0 cpu rows=4,hidden=64,T=f32 row VEC=8": of the incumbent a measurement knows the
// time. One write: several workers append to the file.
void log(const WorkRequest& request, const std::string& variant, const char* event) {
  const std::string path = variable("FAKE_WORKER_LOG");
  if (path.empty()) return;
  const auto* compile = std::get_if<CompileRequest>(&request.work);
  const auto* measure = std::get_if<MeasureRequest>(&request.work);
  std::ostringstream line;
  const char* const kind = request.is<ProbeRequest>()     ? "probe"
                           : request.is<FinalRequest>()   ? "final"
                           : request.is<CeilingRequest>() ? "ceiling"
                           : request.is<CountRequest>()   ? "count"
                                                          : "measure";
  line << (compile != nullptr ? "compile" : kind) << ' ' << event << ' '
       << (measure != nullptr ? measure->stop_above_ns : 0);
  if (measure != nullptr && measure->stop_above_mhz > 0) line << '@' << measure->stop_above_mhz;
  line << ' ' << (compile != nullptr ? compile->device : own_device) << ' ' << problem_of(request)
       << ' ' << variant << '\n';
  std::ofstream(path, std::ios::app) << line.str() << std::flush;
}

bool finds_headers() {
  const std::string gone = variable("FAKE_WORKER_NO_HEADERS");
  return has_folder && (gone.empty() || ::access(gone.c_str(), F_OK) != 0);
}

// Whether this comes true within five minutes.
template <typename Condition>
bool wait_until(const Condition& is_true) {
  for (int i = 0; i < 300'000; ++i) {
    if (is_true()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void wait_at_gate(const std::string& folder) {
  const std::string file = folder + "/" + std::to_string(::getpid());
  std::ofstream(file) << "waits";
  wait_until([&] { return ::access(file.c_str(), F_OK) != 0; });
}

// "4 measure is": until the log has four lines with this text.
void wait_for_lines(const std::string& order) {
  if (order.empty()) return;
  const std::size_t space = order.find(' ');
  const int wanted = std::stoi(order.substr(0, space));
  wait_until([&, text = order.substr(space + 1)] {
    std::ifstream lines(variable("FAKE_WORKER_LOG"));
    int count = 0;
    for (std::string line; std::getline(lines, line);) {
      count += line.find(text) != std::string::npos ? 1 : 0;
    }
    return count >= wanted;
  });
}

// True at once if it need not be.
bool has_been_started(const std::string& device) {
  if (device.empty()) return true;
  return wait_until([&] {
    std::ifstream lines(variable("FAKE_WORKER_STARTS"));
    for (std::string line; std::getline(lines, line);) {
      if (line == device) return true;
    }
    return false;
  });
}

void begin_reference(const WorkRequest& request) {
  WorkReply reply;
  reply.kind = WorkReply::Kind::begin;
  reply.id = request.id;
  reply.phase = WorkReply::Phase::reference;
  reply.message = "family/reference.cu: add_reference";
  say(encode(reply));
}

void take_time(const WorkRequest& request) {
  const bool compiles = request.is<CompileRequest>();
  const std::string gate =
      variable(compiles ? "FAKE_WORKER_COMPILE_GATE" : "FAKE_WORKER_MEASURE_GATE");
  if (!gate.empty()) {
    if (!compiles) begin_reference(request);
    wait_at_gate(gate);
    if (!compiles) begin(request.id);
  }
  const std::string text = variable(compiles ? "FAKE_WORKER_COMPILE_MS" : "FAKE_WORKER_MEASURE_MS");
  if (!text.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(text)));
}

// The variant without the value of the parameter that this variable names.
std::string without(const std::string& variant, const char* name) {
  const std::string same = variable(name);
  const std::size_t at = same.empty() ? std::string::npos : variant.find(" " + same + "=");
  if (at == std::string::npos) return variant;
  const std::size_t end = variant.find(' ', at + 1);
  return variant.substr(0, at) + (end == std::string::npos ? "" : variant.substr(end));
}

// A log as ptxas writes it.
constexpr char kLog[] =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function '_ZN2mg16rmsnorm_persistentI6__half' for 'sm_90a'\n"
    "ptxas info    : Function properties for _ZN2mg16rmsnorm_persistentI6__half\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 40 registers, used 1 barriers, 2056 bytes smem\n";

// Between 1000 and 3000 ns. The same in every process: FNV-1a.
double spread_ns(const std::string& variant) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char letter : variant) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211U;
  }
  return 1000 + static_cast<double>(hash >> 32) * 0x1p-32 * 2000;
}

void spread(const WorkRequest& request, const std::string& variant, WorkReply& reply) {
  reply.message.clear();
  if (request.is<CompileRequest>()) reply.build->message = kLog;
  const auto* measure = std::get_if<MeasureRequest>(&request.work);
  if (measure == nullptr) return;
  reply.build->message = kLog;
  MeasurementRecord& measurement = *reply.measurement;
  measurement.method = "rotating";
  measurement.median_ns = measurement.q1_ns = measurement.q3_ns = measurement.min_ns =
      spread_ns(variant);
  reply.seconds = WorkSeconds{};
  if (measure->stop_above_ns <= 0 || measurement.median_ns <= measure->stop_above_ns) return;
  reply.outcome = measurement.outcome = Outcome::raced_out;
}

std::optional<double> compile_seconds(const CompileRequest& request) {
  static std::set<std::string> built;
  const std::string seconds = variable("FAKE_WORKER_COMPILE_SECONDS");
  const std::string slow = variable("FAKE_WORKER_LONG");
  if (seconds.empty() || built.contains(request.variant)) return std::nullopt;
  built.insert(request.others.begin(), request.others.end());
  const auto took = [&](const std::string& variant) {
    const bool is_slow = !slow.empty() && variant.find(slow) != std::string::npos;
    return is_slow ? 60 : std::stod(seconds);
  };
  double all = took(request.variant);
  for (const std::string& other : request.others) all += took(other);
  return all;
}

void done(const WorkRequest& request, const std::string& variant) {
  WorkReply reply;
  reply.id = request.id;
  reply.message = variant;
  reply.build = BuildRecord{};
  if (const auto* compile = std::get_if<CompileRequest>(&request.work)) {
    reply.compile_seconds = compile_seconds(*compile);
    reply.build->sha256 = "sha of " + without(variant, "FAKE_WORKER_SAME_CODE");
    const char* const renaming = "FAKE_WORKER_SAME_MACHINE_CODE";
    if (!variable(renaming).empty()) reply.code = "code of " + without(variant, renaming);
    reply.not_cached = variable("FAKE_WORKER_NOT_CACHED");
  }
  if (request.is<MeasureRequest>()) {
    reply.check = CheckRecord{};
    MeasurementRecord& measurement = reply.measurement.emplace();
    measurement.method = "emulation";
    measurement.median_ns = variant == variable("FAKE_WORKER_FAST") ? 500 : 1000;
    if (const std::string cool = variable("FAKE_WORKER_COOL"); !cool.empty()) {
      const bool is_cool = variant == cool;
      measurement.median_ns = is_cool ? 1000 : 1200;
      measurement.clocks.sm_mhz = is_cool ? 1980 : 1500;
    }
    measurement.q1_ns = measurement.q3_ns = measurement.min_ns = measurement.median_ns;
    measurement.samples = 5;
    const std::string seconds = variable("FAKE_WORKER_SECONDS");
    if (!seconds.empty()) reply.seconds = WorkSeconds{0, 0, 0, std::stod(seconds)};
  }
  if (request.is<CountRequest>() && variant != "forgets the counters") {
    reply.build->sha256 = "sha";
    reply.counters = VariantCounters{
        "GH100", 16, 2, "", {{"dram_read_bytes", 6000}, {"dram_write_bytes", 6120}}, {"l2_bytes"}};
  }
  if (!variable("FAKE_WORKER_SPREAD").empty()) spread(request, variant, reply);
  say(encode(reply));
}

void wrong(const WorkRequest& request) {
  WorkReply reply;
  reply.id = request.id;
  reply.outcome = Outcome::wrong;
  reply.message = "z[3] is 7, not 8";
  say(encode(reply));
}

void refuse_to_compile(const WorkRequest& request, const std::string& message) {
  WorkReply reply;
  reply.id = request.id;
  reply.build.emplace().outcome = reply.outcome = Outcome::compile_failed;
  reply.build->message = reply.message = message;
  say(encode(reply));
}

void fail(const WorkRequest& request, const Status& failure) {
  say(encode(failed_reply(request.id, failure)));
}

[[noreturn]] void crash(int signal) {
  std::signal(signal, SIG_DFL);  // not a sanitizer's, which would report and exit
  std::raise(signal);
  ::_exit(9);
}

void stop() { ::raise(SIGSTOP); }

void serve_probe(const WorkRequest& request, const ProbeRequest& work) {
  begin(request.id);
  log(request, "", "begins");
  if (work.worker == "measure" && variable("FAKE_WORKER_KILLED") == "everything") crash(SIGKILL);
  if (work.worker == "compile" && !finds_headers()) {
    return fail(request, environment_error("known_good.cu: cuda_fp16.h: No such file"));
  }
  WorkReply reply;
  reply.id = request.id;
  say(encode(reply));
}

// For as long as it runs there is the file.
void be_busy(const std::string& file) {
  std::ofstream(file) << "busy";
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  ::unlink(file.c_str());
}

// Whether the file comes within the time that two processes need to start.
bool sees_busy(const std::string& file) {
  for (int i = 0; i < 30; ++i) {
    if (::access(file.c_str(), F_OK) == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// A device without wgmma; the rates are numbers that a test knows.
void serve_ceiling(const WorkRequest& request, const CeilingRequest& work) {
  begin(request.id);
  const auto asks_for = [&](const char* what) {
    return own_device.ends_with(" " + work.ceiling + ": " + what);
  };
  log(request, work.ceiling, "begins");
  wait_for_lines(variable("FAKE_WORKER_CEILING_AFTER"));
  log(request, work.ceiling, "is done");
  if (asks_for("crash")) crash(SIGSEGV);
  if (asks_for("failure")) return fail(request, Status(StatusCode::internal, "it does not copy"));
  WorkReply reply;
  reply.id = request.id;
  if (work.ceiling.starts_with("wgmma")) {
    reply.outcome = Outcome::unsupported;
    reply.message = "no wgmma here";
  } else {
    reply.ceiling = CeilingRecord{work.ceiling, "rotating", work.bytes,
                                  4e12,         utc_now(),  {1980, 3201, 300, 40, "", 0}};
  }
  say(encode(reply));
}

// Whether the device's id orders this of a final: "final: crash" of any, "final: crash in
// company" of several variants, "final: crash at VEC=2" of those with such a variant.
bool is_ordered(const FinalRequest& request, const std::string& what) {
  const std::string order = " final: " + what;
  const std::size_t at = own_device.find(order);
  if (at == std::string::npos) return false;
  const std::string rest = own_device.substr(at + order.size());
  if (rest == " in company") return request.variants.size() > 1;
  if (!rest.starts_with(" at ")) return rest.empty();
  return std::ranges::any_of(request.variants, [&](const std::string& variant) {
    return variant.find(rest.substr(4)) != std::string::npos;
  });
}

// Each variant is 10 % of the first faster than the one before it in the request.
void serve_final(const WorkRequest& request, const FinalRequest& work) {
  begin(request.id);
  log(request, "", "begins");
  wait_for_lines(variable("FAKE_WORKER_FINAL_AFTER"));
  log(request, "", "is done");
  const auto asks_for = [&](const char* what) { return is_ordered(work, what); };
  if (asks_for("crash")) crash(SIGSEGV);
  if (asks_for("hang")) hang();
  WorkReply reply;
  reply.id = request.id;
  if (asks_for("failure")) {
    reply.outcome = Outcome::launch_failed;
    reply.message = "no launch";
    return say(encode(reply));
  }
  TurnTiming& final = reply.final.emplace();
  final.note = work.settle_seconds > 0 ? "sustained" : "problem too small to rotate";
  for (const std::string& variant : work.variants) {
    const auto first = std::find(work.variants.begin(), work.variants.end(), variant);
    const auto place = static_cast<double>(first - work.variants.begin());
    final.samples_ns.emplace_back(10, 1000 - 100 * place);
  }
  if (asks_for("short")) final.samples_ns.back().pop_back();
  say(encode(reply));
}

// The second variant of the request needs the least energy, and each further one 20 mJ more. The
// device's id may end with "energy: " and an order: "refused" has no counter, "short" leaves the
// last variant out, "noisy" has large errors.
void serve_energy(const WorkRequest& request, const EnergyRequest& work) {
  begin(request.id);
  const auto asks_for = [&](const char* what) {
    return own_device.ends_with(std::string(" energy: ") + what);
  };
  if (asks_for("refused")) return fail(request, environment_error("no energy counter here"));
  WorkReply reply;
  reply.id = request.id;
  TurnEnergy& energy = reply.energy.emplace();
  for (std::size_t i = 0; i < work.variants.size(); ++i) {
    energy.joules.push_back(0.1 + 0.02 * std::abs(static_cast<double>(i) - 1));
    energy.error_joules.push_back(asks_for("noisy") ? 0.05 : 0.001);
  }
  if (asks_for("short")) energy.joules.pop_back();
  say(encode(reply));
}

// What goes wrong with a group that has one of these. The last one goes well by itself.
constexpr std::array kTrouble = {"crash",   "hang",     "killed",
                                 "refused", "no space", "crash in company"};

// The variant of a request, or the one of a group that makes trouble.
std::string variant_of(const CompileRequest& request) {
  if (request.others.empty()) return request.variant;
  std::string group = request.variant;
  std::string trouble;
  for (const std::string& other : request.others) group += " + " + other;
  std::vector<std::string> all = request.others;
  all.push_back(request.variant);
  for (const std::string& one : all) {
    if (std::ranges::find(kTrouble, one) != kTrouble.end()) trouble = one;
  }
  if (const std::string groups = variable("FAKE_WORKER_GROUPS"); !groups.empty()) {
    std::ofstream(groups, std::ios::app) << group + "\n" << std::flush;
  }
  if (trouble == "crash in company") return "crash";
  return trouble.empty() ? request.variant : trouble;
}

std::string variant_of(const WorkRequest& request) {
  if (const auto* compile = std::get_if<CompileRequest>(&request.work)) return variant_of(*compile);
  if (const auto* count = std::get_if<CountRequest>(&request.work)) return count->variant;
  return std::get<MeasureRequest>(request.work).variant;
}

void serve(const WorkRequest& request, int served) {
  if (const auto* work = std::get_if<CeilingRequest>(&request.work)) {
    return serve_ceiling(request, *work);
  }
  if (const auto* work = std::get_if<FinalRequest>(&request.work)) {
    return serve_final(request, *work);
  }
  if (const auto* work = std::get_if<EnergyRequest>(&request.work)) {
    return serve_energy(request, *work);
  }
  if (const auto* work = std::get_if<ProbeRequest>(&request.work)) {
    return serve_probe(request, *work);
  }
  const std::string variant = variant_of(request);
  const bool is_fresh = served == 0;
  if (variant == "die before begin") ::_exit(3);
  if (variant == "garbage before begin") say("Segmentation fault (core dumped)");
  if (variant == "hang before begin") hang();
  begin(request.id);
  if (variant == "crash" || (variant == "crash unless fresh" && !is_fresh)) {
    std::cerr << "block (3,0,0) thread 5: byte 64 of a buffer of 64" << std::endl;
    crash(SIGSEGV);
  }
  if (variant == "sanitizer report") {
    std::cerr << kAsanReport << std::flush;
    ::_exit(1);
  }
  if (variant == "harms") {
    std::ofstream(variable("FAKE_WORKER_HARM")) << "harmed";
    crash(SIGSEGV);
  }
  if (variant == "exit") ::_exit(7);
  if (variant == "hang" || (variant == "hang unless fresh" && !is_fresh)) hang();
  if (variant == "garbage") say("{\"did\": ");
  if (variant == "other id") {
    WorkRequest other = request;
    ++other.id;
    done(other, variant);
  }
  if (variant == "no space" || (variant == "no space unless fresh" && !is_fresh)) {
    return fail(request, io_error("cannot write /tmp/x: No space left on device"));
  }
  if (variant == "refused") {
    return fail(request, environment_error("only administrators may count"));
  }
  if (variant.ends_with("MODE=wrong")) return wrong(request);
  const bool is_wrong_here =
      request.is<MeasureRequest>() &&
      problem_of(request) + " " + std::string(variant) == variable("FAKE_WORKER_WRONG");
  if (is_wrong_here) return wrong(request);
  if (variant == "wrong word") return fail(request, invalid_argument("no such family"));
  if (variant == "stopped unless fresh" && !is_fresh) stop();
  if (variant == "loses its folder" && !is_fresh) has_folder = false;
  const std::string broken = variable("FAKE_WORKER_BROKEN");
  const bool is_broken =
      variant.starts_with("broken") ||
      (!broken.empty() && variant.find(broken) != std::string::npos) ||
      !has_been_started(request.is<CompileRequest>() ? variable("FAKE_WORKER_COMPILE_AFTER_START")
                                                     : "");
  if (request.is<CompileRequest>() && (is_broken || !finds_headers())) {
    log(request, variant, "begins");
    return refuse_to_compile(request, is_broken ? "error: it is broken" : "no such header");
  }
  const std::string killed = variable("FAKE_WORKER_KILLED");
  if (request.is<MeasureRequest>() && !killed.empty() &&
      (killed == "everything" || variant.find(killed) != std::string::npos)) {
    log(request, variant, "begins");
    crash(variant.find("SIGTERM") == std::string::npos ? SIGKILL : SIGTERM);
  }
  if (variant == "killed" || (variant == "killed unless fresh" && !is_fresh)) crash(SIGKILL);
  if (variant.starts_with("busy ")) be_busy(variant.substr(5));
  if (variant.starts_with("killed beside ") && sees_busy(variant.substr(14))) crash(SIGKILL);
  if (variant.ends_with("in the reference")) begin_reference(request);
  if (variant == "crash in the reference") crash(SIGSEGV);
  if (variant == "hang in the reference") hang();
  if (variant == "killed in the reference") crash(SIGKILL);
  if (variant == "crash after the reference") {
    begin_reference(request);
    begin(request.id);
    crash(SIGSEGV);
  }
  if (variant == "chatter") std::cerr << std::string(1 << 20, 'x') << std::endl;
  if (variant == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(300));
  log(request, variant, "begins");
  take_time(request);
  log(request, variant, "is done");
  done(request, variant);
}

// Whether the GPU that a measure worker is started for is well.
bool is_well(const std::string& device) {
  const std::string harm = variable("FAKE_WORKER_HARM");
  const bool is_harmed = !harm.empty() && ::access(harm.c_str(), F_OK) == 0;
  return device.find("sick") == std::string::npos &&
         !(is_harmed && device.find("frail") != std::string::npos);
}

int run() {
  int served = 0;
  for (std::string line; std::getline(std::cin, line); ++served) {
    const Result<WorkRequest> request = decode_request(line);
    if (!request.ok()) {
      std::cerr << request.status().message() << std::endl;
      return 2;
    }
    serve(*request, served);
  }
  return 0;
}

}  // namespace
}  // namespace mgtune

int main(int count, char** arguments) {
  if (count > 1 && std::string(arguments[1]) == "dead") {
    std::cerr << "no device here" << std::endl;
    return 4;
  }
  if (count > 3 && std::string(arguments[2]) == "measure" && !mgtune::is_well(arguments[3])) {
    std::cerr << arguments[3] << " does not work" << std::endl;
    return 4;
  }
  if (count > 3) mgtune::own_device = arguments[3];
  if (const std::string starts = mgtune::variable("FAKE_WORKER_STARTS"); !starts.empty()) {
    std::ofstream(starts, std::ios::app) << mgtune::own_device + "\n" << std::flush;
  }
  if (const std::string cores = mgtune::variable("FAKE_WORKER_CORES");
      !cores.empty() && count > 2) {
    std::ofstream(cores, std::ios::app)
        << std::string(arguments[2]) + " on " + mgtune::cores_text(mgtune::own_cores()) + "\n"
        << std::flush;
  }
  return mgtune::run();
}
