#include <fmt/format.h>

#include <charconv>

#include "accounts/accounts.h"
#include "api/account_types.h"
#include "api/run_types.h"
#include "base/shortened.h"
#include "base/text.h"
#include "http/api_check.h"
#include "http/api_routes.h"
#include "http/ownership.h"
#include "http/start_rules.h"
#include "leader/leader.h"
#include "store/run_store.h"

namespace assay {
namespace {

using In = ApiParameter::In;

constexpr std::size_t kMostEntries = 1000;
/// What stands for everybody in a path, where nothing cannot.
constexpr std::string_view kEverybody = "*";

Result<AuditList> list_audit(Leader& leader, const HttpRequest& request) {
  AuditQuery query{.who = std::string(request.query_value("who").value_or(""))};
  ASSAY_TRY(query.limit, limit_of(request, query.limit, kMostEntries));
  ASSAY_TRY(query.from, time_of(request, "from"));
  if (const auto before = request.query_value("before")) {
    std::from_chars(before->data(), before->data() + before->size(), query.before);
  }
  AuditList answer;
  ASSAY_TRY(answer.entries, leader.accounts().audit().list(query));
  if (answer.entries.size() == query.limit) answer.next = answer.entries.back().id;
  return answer;
}

void add_audit(ApiTable& table, Leader& leader) {
  table.add(
      {.path = "/api/v1/audit",
       .scope = Scope::admin,
       .summary = "Who changed what, when and from where, and whether it was done",
       .parameters = {{.name = "who", .description = "Of these alone: `user ada`, `token ci`"},
                      {.name = "from", .description = "Since then, as 2026-11-15T08:00:00Z"},
                      {.name = "before", .description = "The next page: `next` of the one before", .type = "integer"},
                      {.name = "limit", .description = "At most so many (100)", .type = "integer"}},
       .handle =
           answering([&leader](const HttpRequest& request, const Principal&) { return list_audit(leader, request); })});
}

void add_catalog(ApiTable& table, Leader& leader) {
  auto& catalog = leader.accounts().catalog();
  table.add({.path = "/api/v1/catalog",
             .summary = "What users may start; administrators may start anything",
             .handle = answering([&catalog](const HttpRequest&, const Principal&) -> Result<CatalogList> {
               return CatalogList{.offers = catalog.all()};
             })});
  table.add({.method = "PUT",
             .path = "/api/v1/catalog",
             .scope = Scope::admin,
             .summary = "Offer something to users, or change the offer of that name",
             .handle = taking<CatalogRecord>(
                 [&catalog](CatalogRecord offer, const HttpRequest&, const Principal&) -> Result<CatalogRecord> {
                   offer.description = shortened(offer.description, 1024);
                   ASSAY_CHECK(check_entry(offer));
                   ASSAY_CHECK(catalog.put(offer));
                   return offer;
                 })});
  table.add({.method = "DELETE",
             .path = "/api/v1/catalog/{offer}",
             .scope = Scope::admin,
             .summary = "Offer it no longer",
             .parameters = {{.name = "offer", .in = In::path, .description = "Its name"}},
             .handle = answering([&catalog](const HttpRequest& request, const Principal&) -> Result<Done> {
               ASSAY_TRY(const auto gone, catalog.take(request.capture("offer")));
               if (!gone) return Error{.kind = ErrorKind::not_found, .message = "the catalog has no such offer"};
               return Done{};
             })});
}

Result<QuotaRecord> put_quota(Leader& leader, QuotaRecord quota) {
  ASSAY_CHECK(check_limits(quota));
  if (!quota.user.empty() && !leader.accounts().people().find(quota.user)) {
    return Error{.kind = ErrorKind::not_found,
                 .message = fmt::format("there is no user '{}'", printable(quota.user)),
                 .hint = "An empty 'user' stands for everybody."};
  }
  ASSAY_CHECK(leader.accounts().quotas().put(quota));
  return quota;
}

void add_quotas(ApiTable& table, Leader& leader) {
  auto& quotas = leader.accounts().quotas();
  table.add({.path = "/api/v1/quotas",
             .scope = Scope::admin,
             .summary = "How much people may use",
             .handle = answering([&quotas](const HttpRequest&, const Principal&) -> Result<QuotaList> {
               return QuotaList{.quotas = quotas.all()};
             })});
  table.add({.method = "PUT",
             .path = "/api/v1/quotas",
             .scope = Scope::admin,
             .summary = "Limit what a user, or everybody, may use",
             .handle = taking<QuotaRecord>([&leader](QuotaRecord quota, const HttpRequest&, const Principal&) {
               return put_quota(leader, std::move(quota));
             })});
  table.add({.method = "DELETE",
             .path = "/api/v1/quotas/{user}",
             .scope = Scope::admin,
             .summary = "Take a limit away",
             .parameters = {{.name = "user", .in = In::path, .description = "Whose; `*`: that of everybody"}},
             .handle = answering([&quotas](const HttpRequest& request, const Principal&) -> Result<Done> {
               const auto user = request.capture("user");
               ASSAY_TRY(const auto gone, quotas.take(user == kEverybody ? "" : user));
               if (!gone) return Error{.kind = ErrorKind::not_found, .message = "there is no such quota"};
               return Done{};
             })});
  table.add({.path = "/api/v1/quota",
             .summary = "What the caller may use, and uses",
             .handle = answering([&leader](const HttpRequest&, const Principal& caller) -> Result<QuotaUse> {
               ASSAY_TRY(const auto used, usage_of(leader, caller, true));
               return QuotaUse{.quota = quota_for(leader, caller), .runs = used.runs, .gpu_hours = used.gpu_hours};
             })});
}

void add_owners(ApiTable& table, Leader& leader) {
  table.add({.path = "/api/v1/runs/{run}/owner",
             .summary = "Whose a run is: who may change it besides administrators",
             .parameters = {{.name = "run", .in = In::path, .description = "The id of the run"}},
             .handle = answering([&leader](const HttpRequest& request, const Principal&) -> Result<OwnerAnswer> {
               OwnerAnswer answer;
               ASSAY_TRY(answer.owner, owner_of_run(leader.accounts(), leader.runs(), request.capture("run")));
               return answer;
             })});
}

}  // namespace

void add_offer_endpoints(ApiTable& table, Leader& leader) {
  add_audit(table, leader);
  add_catalog(table, leader);
  add_quotas(table, leader);
  add_owners(table, leader);
}

}  // namespace assay
