#include <fmt/format.h>

#include "accounts/accounts.h"
#include "api/account_types.h"
#include "api/error_types.h"
#include "http/api_routes.h"
#include "leader/leader.h"

namespace assay {
namespace {

const ApiParameter kPanel{.name = "panel", .in = ApiParameter::In::path, .description = "Its id"};

/// Panels belong to an account; a token or link that may only look changes nothing.
Result<void> check_may_save(const Principal& caller, bool shared) {
  if (caller.account.empty()) {
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("{} has no account, and panels are kept for accounts", caller.title),
                 .hint = "Sign in; without, the address of a panel has all of it."};
  }
  const bool may_run = caller.scopes.has(Scope::run);
  if (caller.session.empty() && !may_run) {
    return Error{.kind = ErrorKind::denied, .message = fmt::format("{} may look and no more", caller.title)};
  }
  if (shared && !may_run) {
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("{} may save panels for themselves, and share none", caller.title)};
  }
  return {};
}

/// A panel that the caller may change: whose it is not is not told that it exists, unless it is shared.
Result<PanelRecord> own_panel(const SavedPanels& panels, std::string_view id, const Principal& caller, bool removes) {
  const auto panel = panels.find(id);
  const bool own = panel && panel->user == caller.account;
  if (!panel || (!own && !panel->content.shared)) {
    return Error{.kind = ErrorKind::not_found, .message = "there is no such panel"};
  }
  if (own || (removes && caller.scopes.has(Scope::admin))) return *panel;
  return Error{.kind = ErrorKind::denied,
               .message = fmt::format("the panel belongs to {}", panel->user),
               .hint = removes ? "Its author or an administrator can remove it."
                               : "Save it as one of your own, and change that."};
}

}  // namespace

void add_panel_endpoints(ApiTable& table, Leader& leader) {
  SavedPanels& panels = leader.accounts().panels();
  table.add({.path = "/api/v1/panels",
             .summary = "Charts that people saved: the caller's own, and those that are shared with everybody",
             .handle = answering([&panels](const HttpRequest&, const Principal& caller) -> Result<PanelList> {
               return PanelList{.panels = panels.seen_by(caller.account)};
             })});
  table.add({.method = "POST",
             .path = "/api/v1/panels",
             .summary = "Save a panel for the caller's account; shared with everybody, for who may start runs",
             .audit = ApiEndpoint::Audit::always,
             .handle = taking<PanelContent>(
                 [&panels](PanelContent content, const HttpRequest&, const Principal& caller) -> Result<PanelRecord> {
                   ASSAY_CHECK(check_may_save(caller, content.shared));
                   return panels.create(caller.account, std::move(content));
                 })});
  table.add({.method = "PUT",
             .path = "/api/v1/panels/{panel}",
             .summary = "Change a panel of the caller's",
             .parameters = {kPanel},
             .audit = ApiEndpoint::Audit::always,
             .handle = taking<PanelContent>([&panels](PanelContent content, const HttpRequest& request,
                                                      const Principal& caller) -> Result<PanelRecord> {
               ASSAY_CHECK(check_may_save(caller, content.shared));
               ASSAY_TRY(const auto panel, own_panel(panels, request.capture("panel"), caller, false));
               return panels.change(panel.id, std::move(content));
             })});
  table.add({.method = "DELETE",
             .path = "/api/v1/panels/{panel}",
             .summary = "Remove a panel of the caller's; administrators, any that is shared",
             .parameters = {kPanel},
             .audit = ApiEndpoint::Audit::always,
             .handle = answering([&panels](const HttpRequest& request, const Principal& caller) -> Result<Done> {
               if (!caller.scopes.has(Scope::admin)) {
                 ASSAY_CHECK(check_may_save(caller, false));
               }
               ASSAY_TRY(const auto panel, own_panel(panels, request.capture("panel"), caller, true));
               ASSAY_CHECK(panels.remove(panel.id));
               return Done{};
             })});
}

}  // namespace assay
