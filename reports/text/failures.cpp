#include "text/failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "analysis/failure_causes.h"
#include "text/explanations.h"
#include "text/printable.h"
#include "text/tables.h"
#include "text/units.h"

namespace mgtune {
namespace {

constexpr std::size_t kSharesShown = 6;

std::string condition_text(const Assignment& condition) {
  return condition.first == "design" ? "design " + condition.second
                                     : condition.first + "=" + condition.second;
}

std::string scope_text(const FailureCause& cause) {
  const std::size_t failed = cause.variants.size();
  std::string with;
  for (const Assignment& condition : cause.conditions) {
    with += (with.empty() ? " with " : " and ") + condition_text(condition);
  }
  if (!cause.is_every()) return fmt::format("{} of {} variants{}", failed, cause.matching, with);
  if (failed == 1) return "1 variant" + with;
  return fmt::format("every variant{} ({})", with, failed);
}

std::string shares_text(const FailureCause& cause) {
  std::string text;
  for (const ValueShare& share :
       std::span(cause.shares).first(std::min(cause.shares.size(), kSharesShown))) {
    text += fmt::format("{}{} of {} with {}", text.empty() ? "" : ", ", share.failed, share.all,
                        condition_text(share.value));
  }
  return text + (cause.shares.size() > kSharesShown ? ", ..." : "");
}

const OutcomeView& first_view(const ReportModel& model, const FailureCause& cause) {
  return model.variants[cause.variants.front()].view;
}

std::string heading_of(const OutcomeView& view) {
  return printable_line(fmt::format("{} on {}", view.op, view.gpu.model));
}

std::string cause_text(const FailureCause& cause, std::string_view message) {
  std::string text =
      fmt::format("  {}: {}: {}\n", to_string(cause.outcome), scope_text(cause), message);
  const std::string shares = shares_text(cause);
  if (!shares.empty()) text += "    " + shares + "\n";
  return text;
}

}  // namespace

std::string causes_text(const ReportModel& model, std::size_t at_most) {
  const std::vector<FailureCause> causes = failure_causes(model);
  std::string text, heading;
  for (std::size_t i = 0; i < std::min(at_most, causes.size()); ++i) {
    const std::string of_cause = heading_of(first_view(model, causes[i]));
    if (of_cause != heading) text += of_cause + "\n";
    heading = of_cause;
    text += cause_text(causes[i], printable_line(headline(causes[i].message)));
  }
  if (causes.size() > at_most) {
    text += fmt::format("  and {}\n", counted(causes.size() - at_most, "other cause"));
  }
  return text;
}

std::string failures_text(const ReportModel& model) {
  const std::string causes = causes_text(model);
  return causes + (causes.empty() ? "" : "\n") + failures_table(model);
}

std::string failures_in_full(const ReportModel& model) {
  const std::vector<FailureCause> causes = failure_causes(model);
  if (causes.empty()) return failures_table(model);
  std::string text;
  for (const FailureCause& cause : causes) {
    const OutcomeView& view = first_view(model, cause);
    const std::string example = printable_line(view.problem + ": " + view.variant);
    text += (text.empty() ? "" : "\n") + heading_of(view) + "\n" +
            cause_text(cause, "for example " + example) + printable(cause.message) + "\n";
  }
  return text;
}

}  // namespace mgtune
