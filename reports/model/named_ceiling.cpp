#include "model/named_ceiling.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/units.h"

namespace mgtune {

std::vector<CeilingShare> ceiling_shares(const ReportPick& pick) {
  std::vector<CeilingShare> shares;
  if (pick.view.gpu.emulation) return shares;
  if (pick.of_copy) {
    const std::string bytes = bytes_text(static_cast<std::int64_t>(pick.view.bytes));
    shares.push_back({fmt::format("copy of {}", bytes), *pick.of_copy});
  }
  if (pick.roofline.of_peak) {
    shares.push_back({fmt::format("{} peak", pick.roofline.peak), *pick.roofline.of_peak});
  }
  std::ranges::stable_sort(shares, std::ranges::greater{}, &CeilingShare::fraction);
  return shares;
}

std::string share_text(const CeilingShare& share) {
  return fmt::format("{} of the {}", percent_text(share.fraction), share.name);
}

}  // namespace mgtune
