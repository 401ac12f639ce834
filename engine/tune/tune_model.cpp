#include "tune/tune_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "core/version.h"
#include "selection/evidence.h"
#include "selection/gpu_similarity.h"
#include "selection/near_ranges.h"
#include "selection/pick_key.h"
#include "selection/variant_selection.h"
#include "source/tuned_source.h"
#include "store/store.h"
#include "system/file_system.h"
#include "system/utc_now.h"
#include "tune/candidates.h"
#include "tune/model_kernels.h"

namespace mgtune::engine {
namespace {

// A kernel with what the database knows of it.
struct KnownKernel {
  ModelKernel kernel;
  MeasuredKernel measured;
  std::string now;      // "": no variant serves the problem here
  double tuned_ns = 0;  // of `now`, by the tuned row that chose it; 0: there is none

  double now_ns() const {
    const MeasuredVariant* const variant = measured.find(now);
    return variant == nullptr ? tuned_ns : variant->median_ns;
  }
  double cost_ns() const { return now_ns() * kernel.mean_count; }
};

class SessionClock final : public TokenClock {
 public:
  SessionClock(Session& session, const std::vector<KnownKernel>& kernels,
               const TuneOptions& options)
      : session_(session), kernels_(kernels), options_(options) {}

  Status choose(std::size_t kernel, const std::string& variant) override {
    return session_.machine().choose_variant(kernels_[kernel].kernel.call, variant);
  }

  // The first step after a choice is not timed.
  Result<double> sample() override {
    using Clock = std::chrono::steady_clock;
    const std::vector<std::int32_t> tokens(session_.rows(), 0);
    double seconds = 0;
    for (const std::uint32_t position : options_.positions) {
      MGTUNE_TRY(session_.set_position(position));
      std::uint32_t length = options_.run;
      const std::uint32_t begin = session_.begin_of_steps(length);
      MGTUNE_TRY(session_.set_position(begin));
      MGTUNE_TRY(session_.steps(tokens, 1));
      MGTUNE_TRY(session_.set_position(begin));
      const Clock::time_point start = Clock::now();
      MGTUNE_TRY(session_.steps(tokens, length));
      seconds += std::chrono::duration<double>(Clock::now() - start).count() / length;
    }
    return seconds / static_cast<double>(options_.positions.size());
  }

 private:
  Session& session_;
  const std::vector<KnownKernel>& kernels_;
  const TuneOptions& options_;
};

Result<std::vector<KnownKernel>> know_kernels(const std::vector<Program>& programs,
                                              const DeviceInfo& device, const TuneOptions& options,
                                              Catalog& catalog) {
  MGTUNE_ASSIGN(std::vector<ModelKernel> kernels, model_kernels(programs, catalog));
  MGTUNE_ASSIGN(TunedSource source, open_tuned_sources(options.source, catalog, device));
  MGTUNE_ASSIGN(Store store, Store::open(options.database, Store::Mode::read_only));
  std::vector<KnownKernel> known;
  bool is_any_measured = false;
  for (ModelKernel& kernel : kernels) {
    KnownKernel one;
    MGTUNE_ASSIGN(one.measured, measured_kernel(store, gpu_record(device), kernel.problem));
    const Operator& op = *kernel.problem.op;
    MGTUNE_ASSIGN(const std::shared_ptr<const Evidence> evidence,
                  evidence_for(kernel.problem.binding(), ranges_of(kernel.problem),
                               gpu_record(device), catalog, source));
    const std::vector<SelectedVariant> selected =
        select_variants(kernel.problem, device, *evidence);
    if (!selected.empty()) {
      const SelectedVariant& first = selected.front();
      one.now = variant_text(op, first.variant);
      if (first.step == SelectionStep::exact) one.tuned_ns = first.expected_ns;
    }
    is_any_measured |= !one.measured.method.empty();
    one.kernel = std::move(kernel);
    known.push_back(std::move(one));
  }
  if (!is_any_measured) {
    return not_found(fmt::format(
        "{} has no time of any kernel of this model on {}: sweep them first, with 'mgtune sweep "
        "--model', or with 'mgengine show kernels --output FILE' and 'mgtune sweep --shapes FILE'",
        options.database, device.name));
  }
  std::ranges::stable_sort(known, std::greater(), &KnownKernel::cost_ns);
  return known;
}

// Stores the picks of a model.
class PickWriter {
 public:
  PickWriter(Store& store, const GpuRecord& gpu, const DeviceInfo& device,
             const std::string& command)
      : store_(store), gpu_(gpu), device_(device), command_(command) {}

  // If the database has no time of the pick, the pick is the variant that ran before, from another
  // table. Then the database gets no pick, and a pick that this object has stored is withdrawn.
  Status write(const KnownKernel& known, const std::string& pick) {
    const MeasuredVariant* const variant = known.measured.find(pick);
    const ModelKernel& kernel = known.kernel;
    TunedRecord tuned;
    tuned.gpu = known.measured.gpu;
    MGTUNE_ASSIGN(tuned.problem,
                  store_.problem_id(kernel.problem.op->full_name(), kernel.problem.text(),
                                    kernel.bytes, kernel.flops));
    if (variant == nullptr) {
      if (written_.erase(tuned.problem) == 0) return {};
      return store_.withdraw_tuned(tuned.gpu, tuned.problem, std::string(kTokenMethod));
    }
    MGTUNE_ASSIGN(const std::optional<TunedView> alone,
                  store_.find_tuned(tuned.gpu, tuned.problem, known.measured.method));
    if (alone) {
      tuned.default_variant = alone->tuned.default_variant;
      tuned.default_median_ns = alone->tuned.default_median_ns;
      tuned.tie = alone->tuned.tie && pick == alone->tuned.variant;
    }
    tuned.method = kTokenMethod;
    tuned.key = key_of(kernel.problem);
    tuned.variant = pick;
    tuned.build_sha256 = variant->build_sha256;
    tuned.median_ns = variant->median_ns;
    if (sweep_ == 0) MGTUNE_TRY(begin(tuned.gpu));
    tuned.sweep = sweep_;
    written_.insert(tuned.problem);
    return store_.record_tuned(tuned);
  }

  Status finish() { return sweep_ == 0 ? Status() : store_.finish_sweep(sweep_, utc_now()); }
  std::int64_t written() const { return static_cast<std::int64_t>(written_.size()); }

 private:
  // The builds are those of the newest sweep on this GPU, so the compiler of that sweep is
  // recorded.
  Status begin(std::int64_t gpu) {
    MGTUNE_ASSIGN(const std::vector<SweepView> sweeps, store_.sweeps());
    EnvironmentRecord environment;
    for (const SweepView& sweep : sweeps) {
      if (is_same_gpu(sweep.gpu, gpu_)) environment = sweep.environment;
    }
    environment.driver = device_.driver;
    environment.mgtune_version = mgtune_version();
    SweepRecord sweep;
    sweep.gpu = gpu;
    MGTUNE_ASSIGN(sweep.environment, store_.environment_id(environment));
    sweep.command = command_;
    sweep.strategy = kTokenMethod;
    sweep.started_at = utc_now();
    MGTUNE_ASSIGN(sweep_, store_.begin_sweep(sweep));
    return {};
  }

  Store& store_;
  const GpuRecord gpu_;
  const DeviceInfo& device_;
  const std::string command_;
  std::int64_t sweep_ = 0;
  std::set<std::int64_t> written_;  // problems
};

// The kernels as the caller sees them, before they are tuned.
std::vector<TunedKernel> described(const std::vector<KnownKernel>& known) {
  double all_ns = 0;
  for (const KnownKernel& one : known) all_ns += one.cost_ns();
  std::vector<TunedKernel> kernels;
  for (const KnownKernel& one : known) {
    TunedKernel kernel;
    kernel.op = one.kernel.problem.op->full_name();
    kernel.problem = one.kernel.problem.text();
    kernel.count = one.kernel.count;
    kernel.method = one.measured.method;
    kernel.before = one.now;
    kernel.before_ns = one.now_ns();
    kernel.share = all_ns > 0 ? one.cost_ns() / all_ns : 0;
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

bool is_tried(const TokenDecision& decision) {
  return std::ranges::any_of(decision.trials,
                             [](const TokenTrial& trial) { return trial.failure.empty(); });
}

}  // namespace

Result<ModelTuning> tune_model(
    Session& session, const DeviceInfo& device, const TuneOptions& options,
    const std::function<void(const TunedKernel&, const TokenTrial&)>& report) {
  Catalog catalog(FileSystem::real());
  MGTUNE_ASSIGN(
      const std::vector<KnownKernel> known,
      know_kernels(programs_at(session.programs(), options.positions), device, options, catalog));
  ModelTuning tuning;
  tuning.kernels = described(known);
  std::vector<TokenChoices> choices;
  for (const KnownKernel& one : known) {
    TokenChoices& kernel = choices.emplace_back();
    kernel.now = one.now;
    if (one.now.empty()) continue;
    const std::vector<MeasuredVariant>& variants = one.measured.variants;
    const std::size_t max = options.candidates;
    const double max_ratio = options.max_ratio;
    kernel.candidates = choose_candidates(variants, one.now, max, max_ratio);
    kernel.near = [&variants, max, max_ratio](const std::string& pick,
                                              const std::vector<std::string>& tried) {
      return nearest_variants(variants, pick, tried, max, max_ratio);
    };
  }
  MGTUNE_ASSIGN(Store store, Store::open(options.database, Store::Mode::read_write));
  PickWriter writer(store, gpu_record(device), device, options.command);
  SessionClock clock(session, known, options);
  MGTUNE_ASSIGN(tuning.tokens, tune_token(
                                   clock, choices, options.rounds,
                                   [&](std::size_t kernel, const TokenTrial& trial) {
                                     report(tuning.kernels[kernel], trial);
                                   },
                                   [&](std::size_t kernel, const TokenDecision& decision) {
                                     return is_tried(decision)
                                                ? writer.write(known[kernel], decision.pick)
                                                : Status();
                                   }));
  for (std::size_t i = 0; i < known.size(); ++i) {
    TunedKernel& kernel = tuning.kernels[i];
    kernel.decision = std::move(tuning.tokens.decisions[i]);
    const MeasuredVariant* const pick = known[i].measured.find(kernel.decision.pick);
    if (pick != nullptr) kernel.pick_ns = pick->median_ns;
  }
  tuning.tokens.decisions.clear();
  MGTUNE_TRY(writer.finish());
  tuning.picks = writer.written();
  return tuning;
}

}  // namespace mgtune::engine
