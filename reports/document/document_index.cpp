#include <algorithm>
#include <iterator>

#include "document/document_parts.h"
#include "text/explanations.h"

namespace mgtune {

void TextList::add(const std::string& text) {
  if (indices_.try_emplace(text, std::ssize(texts_)).second) texts_.push_back(text);
}

std::int64_t TextList::index_of(const std::string& text) const {
  const auto entry = indices_.find(text);
  return entry == indices_.end() ? -1 : entry->second;
}

DocumentIndex::DocumentIndex(const ReportModel& model) {
  const auto add_gpu = [&](const GpuRecord& record) {
    if (gpu(record) < 0) gpus.push_back(&record);
  };
  for (const ReportProblem& problem : model.problems) add_gpu(problem.gpu);
  for (const SweepView& sweep : model.sweeps) add_gpu(sweep.gpu);
  for (const std::string& method : methods_used(model)) methods.add(method);
  for (const ReportFinal& entry : model.finals) methods.add(entry.view.final.method);
  for (const CeilingView& view : model.ceilings) methods.add(view.ceiling.method);
  for (const ReportFailure& failure : model.failures) {
    if (!failure.message.empty()) messages.add(failure.message);
  }
  for (std::size_t i = 0; i < model.sweeps.size(); ++i) {
    const SweepView& view = model.sweeps[i];
    sweeps[view.sweep.id] = static_cast<std::int64_t>(i);
    const std::int64_t at = gpu(view.gpu);
    const auto known = std::ranges::find_if(machines, [&](const auto& machine) {
      return machine.first == at && *machine.second == view.environment;
    });
    machine_of_sweep.push_back(static_cast<std::size_t>(known - machines.begin()));
    if (known == machines.end()) machines.emplace_back(at, &view.environment);
  }
}

std::int64_t DocumentIndex::gpu(const GpuRecord& gpu) const {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (is_same_gpu(*gpus[i], gpu)) return static_cast<std::int64_t>(i);
  }
  return -1;
}

std::int64_t DocumentIndex::sweep(std::int64_t id) const {
  const auto entry = sweeps.find(id);
  return entry == sweeps.end() ? -1 : entry->second;
}

}  // namespace mgtune
