#include <map>

#include "access/token_book.h"
#include "accounts/accounts.h"
#include "api/offer_types.h"
#include "api/run_types.h"
#include "base/shortened.h"
#include "http/api_routes.h"
#include "leader/leader.h"
#include "leader/node.h"
#include "leader/node_registry.h"

namespace assay {
namespace {

constexpr std::size_t kLongestSource = 256;

/// Every model that the cluster has, with its price, so that nobody needs to guess which pattern fits.
PriceList list_prices(Leader& leader) {
  PriceBook book = leader.accounts().price_book();
  std::map<std::string, std::int64_t> models;
  for (const auto& node : leader.nodes().all()) {
    const NodeRecord record = node->record();
    for (const auto& device : record.devices) {
      const auto name = device.facts.find("name");
      if (name != device.facts.end()) ++models[name->second];
    }
  }
  PriceList answer;
  for (const auto& [name, count] : models) {
    const auto* price = book.find(name);
    answer.gpus.push_back({.name = name, .count = count, .price = price ? std::optional(*price) : std::nullopt});
  }
  answer.prices = std::move(book.gpus);
  answer.power = std::move(book.power);
  return answer;
}

}  // namespace

void add_price_endpoints(ApiTable& table, Leader& leader) {
  table.add({.path = "/api/v1/prices",
             .summary = "What GPU hours and power cost where a specification names no price",
             .handle = answering([&leader](const HttpRequest&, const Principal&) -> Result<PriceList> {
               return list_prices(leader);
             })});
  table.add(
      {.method = "PUT",
       .path = "/api/v1/prices",
       .scope = Scope::admin,
       .summary = "State the price of a GPU, or change it",
       .handle = taking<GpuPrice>([&leader](GpuPrice price, const HttpRequest&, const Principal&) -> Result<GpuPrice> {
         price.source = shortened(price.source, kLongestSource);
         ASSAY_CHECK(check_price(price));
         ASSAY_CHECK(leader.accounts().prices().put(price));
         return price;
       })});
  table.add({.method = "DELETE",
             .path = "/api/v1/prices",
             .scope = Scope::admin,
             .summary = "Take a price back",
             .parameters = {{.name = "gpu", .description = "The name or pattern it was stated for", .required = true}},
             .handle = answering([&leader](const HttpRequest& request, const Principal&) -> Result<Done> {
               ASSAY_TRY(const auto gone, leader.accounts().prices().take(request.query_value("gpu").value_or("")));
               if (!gone) return Error{.kind = ErrorKind::not_found, .message = "there is no such price"};
               return Done{};
             })});
  table.add({.method = "PUT",
             .path = "/api/v1/prices/power",
             .scope = Scope::admin,
             .summary = "State what power costs, in money and CO₂; what is left out is not stated",
             .handle = taking<PowerPrice>(
                 [&leader](PowerPrice power, const HttpRequest&, const Principal&) -> Result<PowerPrice> {
                   power.source = shortened(power.source, kLongestSource);
                   ASSAY_CHECK(check_price(power));
                   ASSAY_CHECK(leader.accounts().power_prices().put(power));
                   return power;
                 })});
}

}  // namespace assay
