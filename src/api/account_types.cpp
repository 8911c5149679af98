#include "api/account_types.h"

namespace assay {

template <>
const ApiType<AuditRecord>& api_type() {
  static const auto type = ApiType<AuditRecord>("AuditEntry", "Somebody has changed something, or tried to.")
                               .field("id", &AuditRecord::id, "In the order of events")
                               .field("time", &AuditRecord::time, "When")
                               .field("who", &AuditRecord::who, "`user ada`, `token ci`; empty: nobody knows")
                               .field("from", &AuditRecord::from, "The address they came from")
                               .field("what", &AuditRecord::what, "The request: POST /api/v1/nodes/{node}/drain")
                               .field("about", &AuditRecord::about, "What it was done to; may be empty")
                               .field("status", &AuditRecord::status, "Of the answer: below 400 it was done")
                               .field("detail", &AuditRecord::detail, "Why it was not; may be empty");
  return type;
}

template <>
const ApiType<CatalogRecord>& api_type() {
  static const auto type = ApiType<CatalogRecord>("Offer", "Runs that users may start.")
                               .field("name", &CatalogRecord::name, "What it is known by")
                               .optional("description", &CatalogRecord::description, "For people")
                               .field("kind", &CatalogRecord::kind, "train, serve, node, command or null")
                               .optional("models", &CatalogRecord::models, "Patterns of names; none: any")
                               .optional("datasets", &CatalogRecord::datasets, "The same of data sets")
                               .optional("commands", &CatalogRecord::commands, "The same of whole command lines");
  return type;
}

template <>
const ApiType<QuotaRecord>& api_type() {
  static const auto type =
      ApiType<QuotaRecord>("Quota", "How much somebody may use; what is null has no limit.")
          .optional("user", &QuotaRecord::user, "Empty: everybody who has none of their own")
          .optional("runs_at_once", &QuotaRecord::runs_at_once, "Runs that wait or go on")
          .optional("runs_per_order", &QuotaRecord::runs_per_order, "Runs of one study")
          .optional("gpu_hours_per_day", &QuotaRecord::gpu_hours_per_day, "Within the last 24 hours")
          .optional("gpus_at_once", &QuotaRecord::gpus_at_once, "GPUs in use; further runs wait");
  return type;
}

template <>
const ApiType<SignIn>& api_type() {
  static const auto type =
      ApiType<SignIn>("SignIn",
                      "Who wants in: a user and a password, or the secret of a link that lets somebody in once.")
          .optional("user", &SignIn::user, "What they sign in with")
          .optional("password", &SignIn::password, "Their password")
          .optional("once", &SignIn::once, "Instead of both: what stands behind `once=` in the link");
  return type;
}

template <>
const ApiType<SharedView>& api_type() {
  static const auto type =
      ApiType<SharedView>("SharedView", "What a link shows.")
          .field("kind", &SharedView::kind, "run, study, report or compare")
          .field("runs", &SharedView::runs, "The runs that it names")
          .field("study", &SharedView::study, "The study that it names, with its runs; may be empty");
  return type;
}

template <>
const ApiType<SessionInfo>& api_type() {
  static const auto type =
      ApiType<SessionInfo>("SessionInfo", "Who is asking, and what they may.")
          .field("user", &SessionInfo::user, "Of the account or token; `anonymous` for who has none")
          .field("name", &SessionInfo::name, "What people call them; may be empty")
          .field("role", &SessionInfo::role, "viewer, user or admin; empty: a link")
          .field("scopes", &SessionInfo::scopes, "What they may: read, run, alerts, manage, admin")
          .field("via", &SessionInfo::via, "session, token, link or anonymous")
          .field("csrf", &SessionInfo::csrf,
                 "For the header `X-Assay-Csrf` of requests that change something; empty where there is no session")
          .field("expires", &SessionInfo::expires, "When the session ends unless it is used; null: there is none")
          .field("needs_password", &SessionInfo::needs_password,
                 "Whether the account has no password yet, and should get one now")
          .field("shows", &SessionInfo::shows, "What the link shows; null: it is none");
  return type;
}

template <>
const ApiType<PasswordChange>& api_type() {
  static const auto type = ApiType<PasswordChange>("PasswordChange", "A new password of one's own.")
                               .optional("old", &PasswordChange::old, "The present one, for who has one")
                               .field("password", &PasswordChange::password, "The new one");
  return type;
}

template <>
const ApiType<UserView>& api_type() {
  static const auto type =
      ApiType<UserView>("UserView", "Somebody who may sign in.")
          .field("name", &UserView::name, "What they sign in with")
          .field("full_name", &UserView::full_name, "What people call them; may be empty")
          .field("role", &UserView::role, "viewer, user or admin")
          .field("disabled", &UserView::disabled, "Whether they have to stay out")
          .field("directory", &UserView::directory, "Whether somebody else keeps their password")
          .field("has_password", &UserView::has_password, "Whether they can sign in without a link")
          .field("created", &UserView::created, "When the account was made")
          .field("last_login", &UserView::last_login, "Null: never");
  return type;
}

template <>
const ApiType<UserList>& api_type() {
  static const auto type = ApiType<UserList>("UserList", "Accounts.").field("users", &UserList::users, "By name");
  return type;
}

template <>
const ApiType<NewUser>& api_type() {
  static const auto type = ApiType<NewUser>("NewUser", "An account to be made.")
                               .field("name", &NewUser::name, "What they will sign in with")
                               .optional("full_name", &NewUser::full_name, "What people call them")
                               .field("role", &NewUser::role, "viewer, user or admin")
                               .optional("password", &NewUser::password, "Without one, a link lets them in once");
  return type;
}

template <>
const ApiType<UserChange>& api_type() {
  static const auto type = ApiType<UserChange>("UserChange", "What is to be different about an account.")
                               .optional("full_name", &UserChange::full_name, "What people call them")
                               .optional("role", &UserChange::role, "viewer, user or admin")
                               .optional("disabled", &UserChange::disabled, "true: they have to stay out");
  return type;
}

template <>
const ApiType<PasswordReset>& api_type() {
  static const auto type =
      ApiType<PasswordReset>("PasswordReset", "A password that an administrator gives somebody, or a link instead.")
          .optional("password", &PasswordReset::password,
                    "Without one, a link lets them in once, and the password is good no longer");
  return type;
}

template <>
const ApiType<Invitation>& api_type() {
  static const auto type =
      ApiType<Invitation>("Invitation", "An account, and what lets its user in.")
          .field("user", &Invitation::user, "The account")
          .field("once", &Invitation::once, "For /#/login?once=…: works once, shown once; empty: a password was given");
  return type;
}

template <>
const ApiType<PersonalToken>& api_type() {
  static const auto type =
      ApiType<PersonalToken>("PersonalToken", "A token that somebody made for their own programs.")
          .field("id", &PersonalToken::id, "What it is revoked by")
          .field("user", &PersonalToken::user, "Whose it is")
          .field("name", &PersonalToken::name, "What it is called")
          .field("scopes", &PersonalToken::scopes, "What it may at most: read, run, alerts, manage, admin")
          .field("created", &PersonalToken::created, "When it was made")
          .field("expires", &PersonalToken::expires, "Null: when it is revoked");
  return type;
}

template <>
const ApiType<PersonalTokenList>& api_type() {
  static const auto type = ApiType<PersonalTokenList>("PersonalTokenList", "Tokens of people.")
                               .field("tokens", &PersonalTokenList::tokens, "Those that are good");
  return type;
}

template <>
const ApiType<NewPersonalToken>& api_type() {
  static const auto type =
      ApiType<NewPersonalToken>("NewPersonalToken", "A token to be made.")
          .field("name", &NewPersonalToken::name, "What it is called")
          .field("scopes", &NewPersonalToken::scopes, "read, run, alerts, manage, admin: no more than its owner may")
          .optional("for", &NewPersonalToken::length, "How long it is good: 12h, 30d; without it until it is revoked");
  return type;
}

template <>
const ApiType<MadeToken>& api_type() {
  static const auto type = ApiType<MadeToken>("MadeToken", "A new token.")
                               .field("token", &MadeToken::token, "What is kept of it")
                               .field("secret", &MadeToken::secret, "For `Authorization: Bearer …`; shown once");
  return type;
}

template <>
const ApiType<ShareLink>& api_type() {
  static const auto type = ApiType<ShareLink>("ShareLink", "A link that shows one thing to whoever has it.")
                               .field("id", &ShareLink::id, "What it is revoked by")
                               .field("user", &ShareLink::user, "Who made it")
                               .field("shows", &ShareLink::shows, "What it shows")
                               .field("note", &ShareLink::note, "What it is for; may be empty")
                               .field("created", &ShareLink::created, "When it was made")
                               .field("expires", &ShareLink::expires, "Null: when it is revoked");
  return type;
}

template <>
const ApiType<ShareLinkList>& api_type() {
  static const auto type = ApiType<ShareLinkList>("ShareLinkList", "Links that are good.")
                               .field("links", &ShareLinkList::links, "One's own, or all of them");
  return type;
}

template <>
const ApiType<NewShareLink>& api_type() {
  static const auto type =
      ApiType<NewShareLink>("NewShareLink", "A link to be made.")
          .field("kind", &NewShareLink::kind, "run, study, report or compare")
          .optional("runs", &NewShareLink::runs, "The runs that it shows")
          .optional("study", &NewShareLink::study, "Or the study, with its runs")
          .optional("note", &NewShareLink::note, "What it is for")
          .optional("for", &NewShareLink::length, "How long it is good: 12h, 30d; without it until it is revoked");
  return type;
}

template <>
const ApiType<MadeLink>& api_type() {
  static const auto type = ApiType<MadeLink>("MadeLink", "A new link.")
                               .field("link", &MadeLink::link, "What is kept of it")
                               .field("secret", &MadeLink::secret, "For /#/share/…, and as a bearer token; shown once");
  return type;
}

template <>
const ApiType<PanelContent>& api_type() {
  static const auto type =
      ApiType<PanelContent>("NewPanel", "Charts to be saved: which metrics of which runs, drawn how.")
          .field("name", &PanelContent::name, "What it is called")
          .optional("shared", &PanelContent::shared, "true: everybody who may look at runs sees it")
          .field("metrics", &PanelContent::metrics, "A chart for each")
          .optional("runs", &PanelContent::runs, "Their ids; none: those that the filter finds")
          .optional("filter", &PanelContent::filter, "As after `assay runs`: tag=night metrics.loss<0.5")
          .optional("newest", &PanelContent::newest, "At most so many of those that it finds (8)")
          .optional("axis", &PanelContent::axis, "step (the default), relative (time since the start) or wall (of day)")
          .optional("smoothing", &PanelContent::smoothing, "Of curves, from 0 to 0.98 (0)")
          .optional("logarithmic", &PanelContent::logarithmic, "true: the vertical axis is");
  return type;
}

template <>
const ApiType<PanelRecord>& api_type() {
  static const auto type = ApiType<PanelRecord>("Panel", "Charts that somebody saved.")
                               .field("id", &PanelRecord::id, "What it is changed and removed by")
                               .field("user", &PanelRecord::user, "Whose it is")
                               .field("changed", &PanelRecord::changed, "When it was last saved")
                               .all_of(&PanelRecord::content);
  return type;
}

template <>
const ApiType<PanelList>& api_type() {
  static const auto type = ApiType<PanelList>("PanelList", "Panels that the caller sees.")
                               .field("panels", &PanelList::panels, "Their own and those that are shared, by name");
  return type;
}

template <>
const ApiType<AuditList>& api_type() {
  static const auto type = ApiType<AuditList>("AuditList", "Who changed what.")
                               .field("entries", &AuditList::entries, "Newest first")
                               .field("next", &AuditList::next, "For `before`: there may be more; 0: that is all");
  return type;
}

template <>
const ApiType<CatalogList>& api_type() {
  static const auto type = ApiType<CatalogList>("CatalogList", "What users may start.")
                               .field("offers", &CatalogList::offers, "By name; none: everything but commands");
  return type;
}

template <>
const ApiType<QuotaList>& api_type() {
  static const auto type = ApiType<QuotaList>("QuotaList", "How much people may use.")
                               .field("quotas", &QuotaList::quotas, "The one for everybody, then by user");
  return type;
}

template <>
const ApiType<QuotaUse>& api_type() {
  static const auto type = ApiType<QuotaUse>("QuotaUse", "What the caller may use, and uses.")
                               .field("quota", &QuotaUse::quota, "What holds for them")
                               .field("runs", &QuotaUse::runs, "Runs of theirs that wait or go on")
                               .field("gpu_hours", &QuotaUse::gpu_hours, "Within the last 24 hours");
  return type;
}

template <>
const ApiType<OwnerAnswer>& api_type() {
  static const auto type =
      ApiType<OwnerAnswer>("OwnerAnswer", "Whose something is.")
          .field("owner", &OwnerAnswer::owner, "`user ada`, `token ci`; empty: nobody's, so the administrators'");
  return type;
}

}  // namespace assay
