#include <algorithm>

#include "document/document_parts.h"
#include "text/method_text.h"

namespace mgtune {
namespace {

template <typename Places>
std::int64_t place_of(const Places& places, const std::string& text) {
  const auto place = places.find(text);
  return place == places.end() ? -1 : place->second;
}

}  // namespace

DocumentIndex::DocumentIndex(const ReportModel& model) : methods(methods_used(model)) {
  const auto add_gpu = [&](const GpuRecord& record) {
    if (gpu(record) < 0) gpus.push_back(&record);
  };
  for (const ReportProblem& problem : model.problems) add_gpu(problem.gpu);
  for (const SweepView& sweep : model.sweeps) add_gpu(sweep.gpu);
  const auto add_method = [&](const std::string& name) {
    if (std::ranges::find(methods, name) == methods.end()) methods.push_back(name);
  };
  for (const FinalView& view : model.finals) add_method(view.final.method);
  for (const CeilingView& view : model.ceilings) add_method(view.ceiling.method);
  for (std::size_t i = 0; i < methods.size(); ++i) {
    method_places_[methods[i]] = static_cast<std::int64_t>(i);
  }
  for (const ReportFailure& failure : model.failures) {
    if (failure.message.empty() || message_places_.contains(failure.message)) continue;
    message_places_[failure.message] = static_cast<std::int64_t>(messages.size());
    messages.push_back(failure.message);
  }
  for (std::size_t i = 0; i < model.sweeps.size(); ++i) {
    const SweepView& view = model.sweeps[i];
    sweep_places_[view.sweep.id] = static_cast<std::int64_t>(i);
    const std::int64_t at = gpu(view.gpu);
    const auto known = std::ranges::find_if(machines, [&](const auto& machine) {
      return machine.first == at && *machine.second == view.environment;
    });
    machine_of_sweep.push_back(static_cast<std::size_t>(known - machines.begin()));
    if (known == machines.end()) machines.emplace_back(at, &view.environment);
  }
}

std::int64_t DocumentIndex::method(const std::string& name) const {
  return place_of(method_places_, name);
}

std::int64_t DocumentIndex::message(const std::string& text) const {
  return place_of(message_places_, text);
}

std::int64_t DocumentIndex::gpu(const GpuRecord& gpu) const {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (*gpus[i] == gpu) return static_cast<std::int64_t>(i);
  }
  return -1;
}

std::int64_t DocumentIndex::sweep(std::int64_t id) const {
  const auto place = sweep_places_.find(id);
  return place == sweep_places_.end() ? -1 : place->second;
}

}  // namespace mgtune
