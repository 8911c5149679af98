#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

struct GpuPrice;
struct PowerPrice;

/// Somebody who may sign in.
struct UserRecord {
  std::string name;  ///< what they sign in with
  std::string full_name;
  std::string role;             ///< viewer, user or admin
  std::string password_hash;    ///< as `PasswordHasher` writes it; empty: no password is good
  bool from_directory = false;  ///< whose password somebody else keeps
  bool disabled = false;
  WallTime created;
  std::optional<WallTime> last_login;
  bool operator==(const UserRecord&) const = default;
};

/// Somebody who is signed in.
struct SessionRecord {
  std::string id;  ///< the SHA-256 of the cookie
  std::string user;
  std::string csrf;  ///< what requests that change something must show beside the cookie
  WallTime created;
  WallTime last_seen;
  std::string from;  ///< the address that signed in
  bool operator==(const SessionRecord&) const = default;
};

/// Lets somebody sign in once without a password.
struct OnceRecord {
  std::string id;  ///< the SHA-256 of the secret
  std::string user;
  WallTime expires;
  bool operator==(const OnceRecord&) const = default;
};

/// A token that somebody made for their own programs.
struct PersonalTokenRecord {
  std::string id;
  std::string user;
  std::string name;
  std::string hash;                 ///< the SHA-256 of the secret
  std::vector<std::string> scopes;  ///< of those that the user's role has
  WallTime created;
  std::optional<WallTime> expires;
  bool operator==(const PersonalTokenRecord&) const = default;
};

/// A link that shows one thing to whoever has it.
struct LinkRecord {
  std::string id;
  std::string hash;  ///< the SHA-256 of the secret
  std::string user;  ///< who made it
  std::string kind;  ///< run, study, report or compare
  std::vector<std::string> runs;
  std::string study;  ///< and its runs; empty: none
  std::string note;
  WallTime created;
  std::optional<WallTime> expires;
  bool operator==(const LinkRecord&) const = default;
};

/// What users may start: fits a run whose kind it is and whose values match. Patterns have `*` and `?`.
struct CatalogRecord {
  std::string name;
  std::string description;
  std::string kind;                   ///< of the specification: train, command, …
  std::vector<std::string> models;    ///< patterns; none: any
  std::vector<std::string> datasets;  ///< the same
  std::vector<std::string> commands;  ///< patterns of the whole command line; none: any
  bool operator==(const CatalogRecord&) const = default;
};

/// How much somebody may use. Absent: as much as they like.
struct QuotaRecord {
  std::string user;  ///< empty: everybody who has none of their own
  std::optional<std::int64_t> runs_at_once;
  std::optional<std::int64_t> runs_per_order;
  std::optional<double> gpu_hours_per_day;
  std::optional<std::int64_t> gpus_at_once;  ///< beyond it, runs wait
  bool operator==(const QuotaRecord&) const = default;
};

/// Charts that somebody put together: which metrics of which runs, drawn how.
struct PanelContent {
  std::string name;
  bool shared = false;  ///< with everybody who may look at runs
  std::vector<std::string> metrics;
  std::vector<std::string> runs;  ///< ids; none: those that the filter finds
  std::string filter;             ///< as lists of runs take it
  std::int64_t newest = 8;        ///< at most so many of those it finds
  std::string axis = "step";      ///< step, relative or wall
  double smoothing = 0;           ///< 0 … 0.98
  bool logarithmic = false;
  bool operator==(const PanelContent&) const = default;
};
struct PanelRecord {
  std::string id;
  std::string user;  ///< whose it is
  WallTime changed;
  PanelContent content;
  bool operator==(const PanelRecord&) const = default;
};

/// Rows by their first member, which one process keeps in memory as well: read once, then written through. Any thread.
template <typename Row>
class KeptTable {
 public:
  virtual ~KeptTable() = default;
  /// In order of the first member.
  virtual Result<std::vector<Row>> list() = 0;
  /// Makes it or replaces the one of that name.
  virtual Result<void> put(const Row& row) = 0;
  /// One that does not exist is no error.
  virtual Result<void> remove(std::string_view key) = 0;
};

/// Who has begun a run or a study. Any thread.
class OwnerTable {
 public:
  struct Owned {
    enum class Kind { run, study };
    Kind kind = Kind::run;
    std::string id;
    bool operator==(const Owned&) const = default;
  };
  virtual ~OwnerTable() = default;
  /// Once noted, it stays: a second owner is passed over.
  virtual Result<void> note(const Owned& owned, std::string_view owner, WallTime time) = 0;
  /// Empty: nobody.
  virtual Result<std::string> find(const Owned& owned) = 0;
  /// What somebody has begun since then, oldest first.
  virtual Result<std::vector<Owned>> owned_since(std::string_view owner, WallTime time) = 0;
  /// For what was deleted.
  virtual Result<void> forget(const Owned& owned) = 0;
};

/// Somebody has changed something, or tried to.
struct AuditRecord {
  std::int64_t id = 0;  ///< ascending; given by the store
  WallTime time;
  std::string who;     ///< user ada, token ci, …; empty: nobody knows
  std::string from;    ///< the address
  std::string what;    ///< "POST /api/v1/nodes/{node}/drain"
  std::string about;   ///< what it was done to: gpu01; may be empty
  int status = 0;      ///< of the answer: below 400 it was done
  std::string detail;  ///< why not; may be empty
  bool operator==(const AuditRecord&) const = default;
};

struct AuditQuery {
  std::string who;  ///< empty: everybody
  std::optional<WallTime> from;
  std::int64_t before = 0;  ///< only those with a smaller id; 0: all
  std::size_t limit = 100;
};

/// Never changed, only forgotten by age. Any thread.
class AuditLog {
 public:
  virtual ~AuditLog() = default;
  virtual Result<void> append(const AuditRecord& record) = 0;
  /// Newest first.
  virtual Result<std::vector<AuditRecord>> list(const AuditQuery& query) = 0;
  /// Forgets at most `most` of those before `time`. Whether there are more.
  virtual Result<bool> forget(WallTime time, std::size_t most) = 0;
};

/// All that is kept of people: a table for each kind of thing.
class AccountTables {
 public:
  virtual ~AccountTables() = default;
  virtual KeptTable<UserRecord>& users() = 0;
  virtual KeptTable<SessionRecord>& sessions() = 0;
  virtual KeptTable<OnceRecord>& once() = 0;
  virtual KeptTable<PersonalTokenRecord>& tokens() = 0;
  virtual KeptTable<LinkRecord>& links() = 0;
  virtual KeptTable<PanelRecord>& panels() = 0;
  virtual KeptTable<CatalogRecord>& catalog() = 0;
  virtual KeptTable<QuotaRecord>& quotas() = 0;
  virtual KeptTable<GpuPrice>& prices() = 0;
  virtual KeptTable<PowerPrice>& power_prices() = 0;
  virtual OwnerTable& owners() = 0;
  virtual AuditLog& audit() = 0;
};

}  // namespace assay
