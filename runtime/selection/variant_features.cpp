#include "selection/variant_features.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "selection/admission.h"

namespace mgtune {
namespace {

// The weight of a factor of two in each. runtime/dispatch/README.md says how they were found.
constexpr float kInFlight = 2.05F;       // bytes that an SM's resident threads work on
constexpr float kBytesPerThread = 1.2F;  // of the whole launch
constexpr float kThreadsPerBlock = 0.9F;
constexpr float kWaves = 0.25F;
constexpr float kBytesPerBlock = 0.5F;
constexpr float kParameter = 0.21F;

// The distance of two different words; the design first.
constexpr float kDesign = 1.25F;
constexpr float kWord = 0.1F;

constexpr std::size_t kGeometry = 5;
constexpr std::size_t kNoValue = std::numeric_limits<std::size_t>::max();

// The size of a launch, from the operator's file alone. Variants of different designs and problems
// of different sizes have this in common, so measurements of one say something about the others.
struct LaunchGeometry {
  double blocks = 1, threads_per_block = 1;
  double shared_bytes = 0;  // dynamic, of a block
};

// The product of the values of the expressions, none of which counts as negative. 0 if one fails.
double product(const std::vector<Expression>& extents, const Slots& slots) {
  double all = 1;
  for (const Expression& extent : extents) {
    const Result<std::int64_t> value = extent.evaluate(slots);
    all *= value.ok() ? static_cast<double>(std::max<std::int64_t>(*value, 0)) : 0;
  }
  return all;
}

bool runs(const Launch& launch, const Slots& slots) {
  if (!launch.when) return true;
  const Result<std::int64_t> when = launch.when->evaluate(slots);
  return when.ok() && *when != 0;
}

// Of the launch with the most threads. nullopt if the variant does not serve the problem, as far as
// that is known before it is built: build.blocks_per_sm counts as 1.
std::optional<LaunchGeometry> launch_geometry(const Problem& problem, const Variant& variant,
                                              const DeviceLimits& device) {
  const std::optional<Slots> slots = serving_slots(problem, variant, device);
  if (!slots) return std::nullopt;
  LaunchGeometry widest;
  double max_threads = 0;
  for (const Launch& launch : problem.op->designs[std::size_t(variant.design)].launches) {
    if (!runs(launch, *slots)) continue;
    const double blocks = product(launch.grid, *slots), threads = product(launch.block, *slots);
    if (blocks * threads <= max_threads) continue;
    max_threads = blocks * threads;
    const Result<std::int64_t> shared = launch.shared.evaluate(*slots);
    widest = {blocks, threads, shared.ok() ? static_cast<double>(*shared) : 0};
  }
  return widest;
}

// How much of a launch an SM can run at once, by the limits of its architecture.
double resident_blocks(const LaunchGeometry& geometry, const DeviceLimits& device) {
  const std::int64_t cc = device.compute_capability;
  const bool small = cc == 86 || cc == 89 || cc >= 120;
  const double threads = cc == 75 ? 1024 : small ? 1536 : 2048;
  const double blocks = cc == 75 || cc == 86 ? 16 : small ? 24 : 32;
  double resident = std::min(blocks, std::floor(threads / geometry.threads_per_block));
  if (geometry.shared_bytes > 0) {
    // The driver uses 1 KiB of every block's shared memory.
    resident = std::min(resident, std::floor(static_cast<double>(device.max_shared_bytes) /
                                             (geometry.shared_bytes + 1024)));
  }
  return std::max(resident, 1.0);
}

float log2_of(double value) { return static_cast<float>(std::log2(std::max(value, 1e-9))); }

}  // namespace

double cost_bytes(const Problem& problem) {
  const Result<std::int64_t> bytes = problem.op->bytes.evaluate(problem.slots);
  return bytes.ok() ? static_cast<double>(std::max<std::int64_t>(*bytes, 1)) : 1;
}

VariantFeatures::VariantFeatures(const Operator& op) : numbers_(kGeometry), words_(1) {
  // Parameters of one name mean one thing, whatever the design.
  std::map<std::string, Place> known;
  for (const Design& design : op.designs) {
    std::vector<Place>& places = places_.emplace_back();
    for (const Parameter& parameter : design.params) {
      const bool is_number = parameter.type == ValueType::integer;
      const auto [found, is_new] = known.try_emplace(parameter.name, Place{is_number, kNoValue});
      if (is_new) {
        std::size_t& next = is_number ? numbers_ : words_;
        if (next < (is_number ? kNumbers : kWords)) found->second.index = next++;
      }
      places.push_back(found->second.is_number == is_number ? found->second
                                                            : Place{is_number, kNoValue});
    }
  }
}

bool VariantFeatures::read(const Problem& problem, const Variant& variant,
                           const DeviceLimits& device, Values& values) const {
  const std::optional<LaunchGeometry> geometry = launch_geometry(problem, variant, device);
  if (!geometry) return false;
  const double blocks = std::max(geometry->blocks, 1.0);
  const double threads = std::max(geometry->threads_per_block, 1.0);
  const auto sms = static_cast<double>(std::max<std::int64_t>(device.sm_count, 1));
  const double resident = resident_blocks(*geometry, device);
  const double bytes_per_block = cost_bytes(problem) / blocks;
  values = {};
  values.numbers[0] = kInFlight * log2_of(std::min(resident, blocks / sms) * bytes_per_block);
  values.numbers[1] = kBytesPerThread * log2_of(bytes_per_block / threads);
  values.numbers[2] = kThreadsPerBlock * log2_of(threads);
  values.numbers[3] = kWaves * log2_of(blocks / (resident * sms));
  values.numbers[4] = kBytesPerBlock * log2_of(bytes_per_block);
  values.words.fill(-1);
  values.words[0] = static_cast<std::int16_t>(variant.design);
  const std::vector<Place>& places = places_[std::size_t(variant.design)];
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto [is_number, index] = places[i];
    if (index == kNoValue) continue;
    if (is_number) {
      values.numbers[index] =
          kParameter * log2_of(static_cast<double>(std::max<std::int64_t>(variant.values[i], 1)));
    } else {
      values.words[index] = static_cast<std::int16_t>(variant.values[i]);
    }
  }
  return true;
}

float VariantFeatures::squared_distance(const Values& a, const Values& b, float limit) const {
  float distance = 0;
  for (std::size_t i = 0; i < numbers_; ++i) {
    const float difference = a.numbers[i] - b.numbers[i];
    distance += difference * difference;
  }
  if (distance >= limit) return std::numeric_limits<float>::infinity();
  if (a.words[0] != b.words[0]) distance += kDesign * kDesign;
  for (std::size_t i = 1; i < words_; ++i) {
    if (a.words[i] != b.words[i]) distance += kWord * kWord;
  }
  return distance < limit ? distance : std::numeric_limits<float>::infinity();
}

}  // namespace mgtune
