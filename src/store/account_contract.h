#pragma once

// What every AccountTables must do: part of the contract of ClusterStore, for those who include cluster_contract.h.

#include <vector>

#include "model/price_book.h"
#include "store/account_tables.h"
#include "store/cluster_contract.h"

namespace assay {

class AccountContract : public ClusterContract {
 protected:
  AccountTables& accounts() { return store_->accounts(); }

  /// Two rows come back as they were put; putting one again replaces it; removing it leaves the other.
  template <typename Row>
  static void expect_kept(KeptTable<Row>& table, const Row& first, const Row& second, const Row& changed,
                          const std::string& key) {
    ASSERT_TRUE(table.put(second).ok());
    ASSERT_TRUE(table.put(first).ok());
    EXPECT_EQ(must(table.list()), (std::vector<Row>{first, second}));
    ASSERT_TRUE(table.put(changed).ok());
    EXPECT_EQ(must(table.list()), (std::vector<Row>{changed, second}));
    ASSERT_TRUE(table.remove(key).ok());
    ASSERT_TRUE(table.remove(key).ok()) << "twice is no error";
    EXPECT_EQ(must(table.list()), (std::vector<Row>{second}));
  }
};

TEST_P(AccountContract, PeopleAreKept) {
  const UserRecord ada{.name = "ada",
                       .full_name = "Ada \"the first\" ü",
                       .role = "admin",
                       .password_hash = "$argon2id$…",
                       .from_directory = true,
                       .disabled = true,
                       .created = at(1),
                       .last_login = at(2) + Nanos(3)};
  UserRecord changed = ada;
  changed.disabled = false;
  changed.last_login.reset();
  expect_kept(accounts().users(), ada, {.name = "bob", .role = "user"}, changed, "ada");
  const SessionRecord session{
      .id = "a", .user = "ada", .csrf = "c", .created = at(1), .last_seen = at(2), .from = "10.0.0.7"};
  SessionRecord seen = session;
  seen.last_seen = at(9);
  expect_kept(accounts().sessions(), session, {.id = "b"}, seen, "a");
  expect_kept(accounts().once(), {.id = "a", .user = "ada", .expires = at(1)}, {.id = "b"},
              {.id = "a", .user = "bob", .expires = at(2)}, "a");
}

TEST_P(AccountContract, TokensAndLinksAreKept) {
  const PersonalTokenRecord token{.id = "a",
                                  .user = "ada",
                                  .name = "ci",
                                  .hash = "h",
                                  .scopes = {"read", "run"},
                                  .created = at(1),
                                  .expires = at(2)};
  PersonalTokenRecord forever = token;
  forever.expires.reset();
  expect_kept(accounts().tokens(), token, {.id = "b"}, forever, "a");
  const LinkRecord link{.id = "a",
                        .hash = "h",
                        .user = "ada",
                        .kind = "compare",
                        .runs = {"r1", "r2"},
                        .study = "s",
                        .note = "for the paper",
                        .created = at(1),
                        .expires = at(2)};
  LinkRecord endless = link;
  endless.expires.reset();
  endless.runs.clear();
  expect_kept(accounts().links(), link, {.id = "b"}, endless, "a");
}

TEST_P(AccountContract, PanelsAreKept) {
  const PanelRecord panel{.id = "a",
                          .user = "ada",
                          .changed = at(1) + Nanos(7),
                          .content = {.name = "Loss \"and\" more ü",
                                      .shared = true,
                                      .metrics = {"loss", "val_loss"},
                                      .runs = {"r1", "r2"},
                                      .filter = "tag='a b'",
                                      .newest = 24,
                                      .axis = "wall",
                                      .smoothing = 0.98,
                                      .logarithmic = true}};
  PanelRecord changed = panel;
  changed.changed = at(2);
  changed.content = {.name = "Less", .metrics = {}, .runs = {}, .filter = ""};
  expect_kept(accounts().panels(), panel, {.id = "b", .content = {.name = "b", .filter = "x"}}, changed, "a");
}

TEST_P(AccountContract, CatalogAndQuotasAreKept) {
  const CatalogRecord entry{.name = "gpt",
                            .description = "Language models",
                            .kind = "train",
                            .models = {"gpt*"},
                            .datasets = {"a", "b"},
                            .commands = {"nvidia-smi *"}};
  CatalogRecord changed = entry;
  changed.models = {};
  expect_kept(accounts().catalog(), entry, {.name = "resnet", .kind = "train"}, changed, "gpt");
  expect_kept(accounts().quotas(),
              {.user = "", .runs_at_once = 2, .runs_per_order = 0, .gpu_hours_per_day = 0.5, .gpus_at_once = 3},
              {.user = "ada"}, {.user = "", .runs_at_once = 3}, "");
}

TEST_P(AccountContract, PricesAreKept) {
  const GpuPrice price{.gpu = "*H200*", .on_demand = 3.5, .spot = 1.25, .currency = "USD", .source = "a list"};
  GpuPrice changed = price;
  changed.spot.reset();
  expect_kept(accounts().prices(), price,
              {.gpu = "Tesla T4", .on_demand = {}, .spot = 0.0, .currency = "EUR", .source = ""}, changed, "*H200*");
  const PowerPrice power{.site = "", .per_kwh = 0.25, .currency = "EUR", .grams_co2_per_kwh = 380.0, .source = "grid"};
  PowerPrice clean = power;
  clean.per_kwh.reset();
  clean.grams_co2_per_kwh = 0.0;
  expect_kept(accounts().power_prices(), power, {.site = "z", .currency = "", .source = ""}, clean, "");
}

TEST_P(AccountContract, WhoBeganSomethingStays) {
  using Owned = OwnerTable::Owned;
  auto& owners = accounts().owners();
  const Owned run{.kind = Owned::Kind::run, .id = "r1"};
  const Owned study{.kind = Owned::Kind::study, .id = "r1"};
  ASSERT_TRUE(owners.note(run, "user ada", at(5)).ok());
  ASSERT_TRUE(owners.note(run, "user eve", at(6)).ok());
  ASSERT_TRUE(owners.note(study, "user bob", at(6)).ok());
  ASSERT_TRUE(owners.note({.id = "r0"}, "user ada", at(3)).ok());
  EXPECT_EQ(must(owners.find(run)), "user ada");
  EXPECT_EQ(must(owners.find(study)), "user bob");
  EXPECT_EQ(must(owners.find({.id = "r9"})), "");
  EXPECT_EQ(must(owners.owned_since("user ada", at(0))), (std::vector<Owned>{{.id = "r0"}, run}));
  EXPECT_EQ(must(owners.owned_since("user ada", at(5))), (std::vector<Owned>{run}));
  ASSERT_TRUE(owners.forget(run).ok());
  EXPECT_EQ(must(owners.find(run)), "");
  EXPECT_EQ(must(owners.find(study)), "user bob");
}

TEST_P(AccountContract, TheAuditLogIsReadBackwards) {
  auto& audit = accounts().audit();
  for (int i = 1; i <= 4; ++i) {
    ASSERT_TRUE(audit
                    .append({.time = at(i),
                             .who = i % 2 == 0 ? "ada" : "bob",
                             .from = "::1",
                             .what = "POST /x",
                             .about = "gpu01",
                             .status = 200 + i,
                             .detail = "d"})
                    .ok());
  }
  const auto statuses = [&](const AuditQuery& query) {
    std::string text;
    for (const auto& row : must(audit.list(query))) text += (text.empty() ? "" : " ") + std::to_string(row.status);
    return text;
  };
  EXPECT_EQ(statuses({}), "204 203 202 201");
  EXPECT_EQ(statuses({.who = "ada"}), "204 202");
  EXPECT_EQ(statuses({.from = at(3)}), "204 203");
  EXPECT_EQ(statuses({.limit = 1}), "204");
  EXPECT_EQ(statuses({.before = must(audit.list({.limit = 1}))[0].id}), "203 202 201");
  EXPECT_TRUE(must(audit.forget(at(4), 2)));
  EXPECT_FALSE(must(audit.forget(at(4), 2)));
  EXPECT_EQ(statuses({}), "204");
}

}  // namespace assay
