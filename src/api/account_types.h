#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/api_type.h"
#include "base/clock.h"
#include "store/account_tables.h"

namespace assay {

// What the API says of people: who is asking, accounts, tokens, links, the audit log, the catalog, quotas.

struct SignIn {
  std::string user;
  std::string password;
  std::string once;
};
struct SharedView {
  std::string kind;
  std::vector<std::string> runs;
  std::string study;
};
struct SessionInfo {
  std::string user;
  std::string name;
  std::string role;
  std::vector<std::string> scopes;
  std::string via;
  std::string csrf;
  std::optional<WallTime> expires;
  bool needs_password = false;
  std::optional<SharedView> shows;
};
struct PasswordChange {
  std::string old;
  std::string password;
};
struct UserView {
  std::string name;
  std::string full_name;
  std::string role;
  bool disabled = false;
  bool directory = false;
  bool has_password = false;
  WallTime created;
  std::optional<WallTime> last_login;
};
struct UserList {
  std::vector<UserView> users;
};
struct NewUser {
  std::string name;
  std::string full_name;
  std::string role;
  std::string password;
};
struct UserChange {
  std::optional<std::string> full_name;
  std::optional<std::string> role;
  std::optional<bool> disabled;
};
struct PasswordReset {
  std::string password;
};
struct Invitation {
  UserView user;
  std::string once;
};
struct PersonalToken {
  std::string id;
  std::string user;
  std::string name;
  std::vector<std::string> scopes;
  WallTime created;
  std::optional<WallTime> expires;
};
struct PersonalTokenList {
  std::vector<PersonalToken> tokens;
};
struct NewPersonalToken {
  std::string name;
  std::vector<std::string> scopes;
  std::string length;
};
struct MadeToken {
  PersonalToken token;
  std::string secret;
};
struct ShareLink {
  std::string id;
  std::string user;
  SharedView shows;
  std::string note;
  WallTime created;
  std::optional<WallTime> expires;
};
struct ShareLinkList {
  std::vector<ShareLink> links;
};
struct NewShareLink {
  std::string kind;
  std::vector<std::string> runs;
  std::string study;
  std::string note;
  std::string length;
};
struct MadeLink {
  ShareLink link;
  std::string secret;
};
struct PanelList {
  std::vector<PanelRecord> panels;
};
struct AuditList {
  std::vector<AuditRecord> entries;
  std::int64_t next = 0;
};
struct CatalogList {
  std::vector<CatalogRecord> offers;
};
struct QuotaList {
  std::vector<QuotaRecord> quotas;
};
struct QuotaUse {
  QuotaRecord quota;
  std::int64_t runs = 0;
  double gpu_hours = 0;
};
struct OwnerAnswer {
  std::string owner;
};

template <>
const ApiType<AuditRecord>& api_type();
template <>
const ApiType<CatalogRecord>& api_type();
template <>
const ApiType<QuotaRecord>& api_type();
template <>
const ApiType<SignIn>& api_type();
template <>
const ApiType<SharedView>& api_type();
template <>
const ApiType<SessionInfo>& api_type();
template <>
const ApiType<PasswordChange>& api_type();
template <>
const ApiType<UserView>& api_type();
template <>
const ApiType<UserList>& api_type();
template <>
const ApiType<NewUser>& api_type();
template <>
const ApiType<UserChange>& api_type();
template <>
const ApiType<PasswordReset>& api_type();
template <>
const ApiType<Invitation>& api_type();
template <>
const ApiType<PersonalToken>& api_type();
template <>
const ApiType<PersonalTokenList>& api_type();
template <>
const ApiType<NewPersonalToken>& api_type();
template <>
const ApiType<MadeToken>& api_type();
template <>
const ApiType<ShareLink>& api_type();
template <>
const ApiType<ShareLinkList>& api_type();
template <>
const ApiType<NewShareLink>& api_type();
template <>
const ApiType<MadeLink>& api_type();
template <>
const ApiType<PanelContent>& api_type();
template <>
const ApiType<PanelRecord>& api_type();
template <>
const ApiType<PanelList>& api_type();
template <>
const ApiType<AuditList>& api_type();
template <>
const ApiType<CatalogList>& api_type();
template <>
const ApiType<QuotaList>& api_type();
template <>
const ApiType<QuotaUse>& api_type();
template <>
const ApiType<OwnerAnswer>& api_type();

}  // namespace assay
