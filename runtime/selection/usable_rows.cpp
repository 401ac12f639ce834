#include "selection/usable_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "family/problem.h"
#include "family/variant.h"
#include "selection/admission.h"
#include "selection/gpu_similarity.h"

namespace mgtune {
namespace {

constexpr std::size_t kNamedRows = 3;
constexpr std::size_t kLongestName = 300;

// If mgtune ships the family, the operator was removed from it. Otherwise the family is somebody's
// own.
RowUse without_operator(const std::string& full_name) {
  const std::vector<std::string> shipped = Catalog::shipped_families();
  const std::string family = full_name.substr(0, full_name.find('.'));
  const bool ships = std::ranges::find(shipped, family) != shipped.end();
  return ships ? RowUse::not_offered : RowUse::unknown_operator;
}

// The text may come from a file of unknown origin.
std::string on_one_line(std::string text) {
  if (text.size() > kLongestName) text = text.substr(0, kLongestName) + "...";
  std::ranges::replace_if(
      text, [](unsigned char byte) { return byte < 0x20 || byte >= 0x7f; }, '?');
  return text;
}

std::string reason_of(RowUse use, bool is_one) {
  switch (use) {
    case RowUse::usable:
    case RowUse::unknown_operator:
      break;
    case RowUse::not_offered:
      return "that the operators do not offer any more";
    case RowUse::not_admissible:
      return is_one ? "for which the operator does not admit the variant on its GPU"
                    : "for which the operators do not admit the variants on their GPUs";
    case RowUse::failed:
      return is_one ? "whose variant is recorded as failed on its GPU"
                    : "whose variants are recorded as failed on their GPUs";
  }
  return "";
}

}  // namespace

bool offers(const Operator& op, const std::string& problem, const std::string& variant) {
  const auto words = parse_assignments(problem);
  return words.ok() && bind_problem(op, *words).ok() && parse_variant(op, variant).ok();
}

RowUse use_of(const TunedView& row, Catalog& catalog, const FailedVariants& failed) {
  const Result<const Operator*> op = catalog.find_operator(row.op);
  if (!op.ok()) return without_operator(row.op);
  const Result<ProblemValues> words = parse_assignments(row.problem);
  if (!words.ok()) return RowUse::not_offered;
  const Result<Problem> problem = bind_problem(**op, *words);
  const Result<Variant> variant = parse_variant(**op, row.tuned.variant);
  if (!problem.ok() || !variant.ok()) return RowUse::not_offered;
  return use_of(*problem, *variant, row.gpu, failed);
}

RowUse use_of(const Problem& problem, const Variant& variant, const GpuRecord& gpu,
              const FailedVariants& failed) {
  const Operator& op = *problem.op;
  if (failed.find(gpu, op.full_name(), variant_text(op, variant))) return RowUse::failed;
  const bool is_admitted = may_serve(problem, variant, device_of(gpu).limits);
  return is_admitted ? RowUse::usable : RowUse::not_admissible;
}

bool LeftOutRows::leaves_out(const TunedView& row, Catalog& catalog, const FailedVariants& failed) {
  const RowUse use = use_of(row, catalog, failed);
  if (use == RowUse::usable || use == RowUse::unknown_operator) return false;
  std::string name = fmt::format("{} {} with {}", row.op, row.problem, row.tuned.variant);
  if (const auto outcome = failed.find(row.gpu, row.op, row.tuned.variant)) {
    name += fmt::format(" ({})", to_string(*outcome));
  }
  rows_[use].push_back(on_one_line(std::move(name)));
  return true;
}

std::size_t LeftOutRows::count() const {
  std::size_t rows = 0;
  for (const auto& [use, names] : rows_) rows += names.size();
  return rows;
}

std::vector<std::string> LeftOutRows::sentences() const {
  std::vector<std::string> sentences;
  for (const auto& [use, names] : rows_) {
    const bool is_one = names.size() == 1;
    const auto named = std::span(names).first(std::min(names.size(), kNamedRows));
    const std::size_t more = names.size() - named.size();
    sentences.push_back(fmt::format("{} tuned problem{} {} {} left out: {}{}", names.size(),
                                    is_one ? "" : "s", reason_of(use, is_one),
                                    is_one ? "is" : "are", fmt::join(named, "; "),
                                    more == 0 ? "" : fmt::format("; and {} more", more)));
  }
  return sentences;
}

}  // namespace mgtune
