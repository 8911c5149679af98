#include "model/price_book.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "base/text.h"

namespace assay {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr double kMostMoney = 1e6;

Error bad_price(std::string message, std::string hint = "") {
  return {.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

Result<void> check_amount(std::string_view what, std::optional<double> amount, double most) {
  if (!amount || (*amount >= 0 && *amount <= most)) return {};
  return bad_price(fmt::format("'{}' is {}, which is no amount", what, *amount),
                   fmt::format("A number from 0 to {}.", most));
}

Result<void> check_currency(std::string_view currency) {
  const bool good = currency.size() == 3 &&
                    std::all_of(currency.begin(), currency.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if (good) return {};
  return bad_price(fmt::format("'{}' is no currency", printable(currency.substr(0, kLongestName))),
                   "Three capital letters: USD, EUR.");
}

}  // namespace

const GpuPrice* PriceBook::find(std::string_view gpu) const {
  const std::string name = lower_case(gpu);
  const GpuPrice* found = nullptr;
  for (const auto& one : gpus) {
    const std::string pattern = lower_case(one.gpu);
    if (pattern == name) return &one;
    if (::fnmatch(pattern.c_str(), name.c_str(), 0) != 0) continue;
    if (found == nullptr || one.gpu.size() > found->gpu.size()) found = &one;
  }
  return found;
}

Result<void> check_price(const GpuPrice& price) {
  if (trim(price.gpu).empty() || price.gpu.size() > kLongestName || printable(price.gpu) != price.gpu) {
    return bad_price(fmt::format("'{}' cannot be the name of a GPU", printable(price.gpu.substr(0, kLongestName))),
                     fmt::format("As the driver says it, or a pattern: *H200*; {} bytes at most.", kLongestName));
  }
  if (!price.on_demand && !price.spot)
    return bad_price("no amount given", "'on_demand', 'spot' or both, per GPU hour.");
  ASSAY_CHECK(check_amount("on_demand", price.on_demand, kMostMoney));
  ASSAY_CHECK(check_amount("spot", price.spot, kMostMoney));
  return check_currency(price.currency);
}

Result<void> check_price(const PowerPrice& price) {
  ASSAY_CHECK(check_amount("per_kwh", price.per_kwh, kMostMoney));
  ASSAY_CHECK(check_amount("grams_co2_per_kwh", price.grams_co2_per_kwh, 10'000));
  return price.per_kwh ? check_currency(price.currency) : Result<void>();
}

}  // namespace assay
