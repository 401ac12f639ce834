#include "text/explanations.h"

#include <set>

namespace mgtune {
namespace {

struct Method {
  std::string_view name, description;
};

constexpr Method kMethods[] = {
    {"emulation",
     "The kernel ran on the cpu device, which supplies the CUDA execution model in C++, and the "
     "host's clock was read around each launch. These are emulation times: they show that the "
     "variant was built, checked and timed, they say nothing about how fast it is on any GPU, and "
     "they are never ranked together with a GPU's."},
    {"graph",
     "Many launches over rotating buffers are captured into one CUDA graph; the time is the "
     "graph's divided by their number. It ranks kernels that overlap or last only a few "
     "microseconds."},
    {"rotating",
     "Every launch uses another set of buffers, in turn, together more than three times "
     "as large as the L2 cache, so that data comes from device memory as it would in a "
     "running program. The time is the kernel's on the GPU's own clock (CUPTI)."},
    {"cold",
     "The L2 cache is emptied before every launch, by reading other memory; the reading is not "
     "timed. The time is the kernel's on the GPU's own clock (CUPTI)."},
    {"hot",
     "Every launch uses the same buffers, so that data is in the L2 cache as far as it fits. The "
     "time is the kernel's on the GPU's own clock (CUPTI)."},
    {"rotating_events",
     "As rotating, but by CUDA events around batches of launches, because CUPTI was not to be had; "
     "each row says why. The gaps between launches are in these times."},
    {"token",
     "A pick that 'mgengine tune' decided: it timed whole tokens of a model with this variant and "
     "with others. The time is that of a launch alone, by the method of the sweep that timed it."},
};

constexpr std::string_view kSteps[] = {
    "Checked first. A variant is timed only after its outputs were compared with the operator's "
    "reference, which accumulates in double precision, on two sets of random inputs. Outputs are "
    "filled with NaN beforehand and every tensor is surrounded by guard bands, so that elements "
    "that "
    "are not written, and writes past the end, are found.",
    "Then timed. A time is the median of its samples, from the start of the variant's first launch "
    "to "
    "the end of its last. Only times of one method, on one device and one problem, are compared "
    "with "
    "each other. Samples taken while the GPU held its clocks down are taken again, and counted.",
    "Then a final. Single measurements, one variant after the other, drift. So the fastest "
    "variants "
    "and the default run once more in random round robin and are ranked by the ratio of their "
    "times "
    "within a round. One of them enters twice: how far its two entries differ is the noise. What "
    "differs by less than that, or by less than 0.5 %, is a tie; of what is tied the default is "
    "picked, else the variant with the fewest registers. Where a problem has no final (the sweep "
    "was "
    "stopped), single measurements decide, and the default stays unless it is beaten by more than "
    "1 "
    "% and beyond the quartiles.",
};

}  // namespace

std::vector<std::string> measuring_steps() { return {std::begin(kSteps), std::end(kSteps)}; }

std::vector<std::string> methods_used(const ReportModel& model) {
  std::set<std::string> names;
  for (const ReportPick& pick : model.picks) names.insert(pick.view.tuned.method);
  for (const ReportVariant& variant : model.variants) {
    if (variant.view.measurement) names.insert(variant.view.measurement->method);
  }
  names.erase("");
  return {names.begin(), names.end()};
}

std::string_view method_description(std::string_view method) {
  for (const Method& known : kMethods) {
    if (known.name == method) return known.description;
  }
  return "This version of mgtune has no description of this method.";
}

std::string_view explanation(Outcome outcome) {
  switch (outcome) {
    case Outcome::wrong:
      return "the output differs from the reference beyond the tolerance";
    case Outcome::crashed:
      return "the process that ran it ended";
    case Outcome::timeout:
      return "not finished at the deadline";
    case Outcome::compile_failed:
      return "the compiler refused it";
    case Outcome::launch_failed:
      return "the device refused or aborted the launch";
    case Outcome::unsupported:
      return "not possible on this device";
    case Outcome::unstable:
      return "the times scatter too much to be ranked";
    case Outcome::ok:
    case Outcome::raced_out:
      break;
  }
  return "";
}

std::string_view headline(std::string_view message) {
  const std::size_t error = message.find("error");
  if (error == std::string_view::npos) return message;
  const std::size_t line = message.rfind('\n', error);
  return line == std::string_view::npos ? message : message.substr(line + 1);
}

}  // namespace mgtune
