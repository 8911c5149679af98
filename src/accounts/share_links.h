#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/authenticator.h"
#include "accounts/kept.h"
#include "base/clock.h"

namespace assay {

/// Links that show one thing, read-only, to whoever has them. Any thread.
class ShareLinks {
 public:
  ShareLinks(AccountTables& tables, const Clock& clock) : clock_(clock), links_(tables.links(), &LinkRecord::id) {}
  Result<void> load() { return links_.load(); }

  struct Made {
    LinkRecord link;
    std::string secret;  ///< seen here and never again
  };
  /// `wanted` without id, hash and times. `usage`: of no kind that is known, naming nothing or what its kind does not
  /// show (a run: one; a study: one; a comparison: two or more runs, or a study), too many links.
  Result<Made> create(LinkRecord wanted, std::optional<Nanos> lifetime);
  std::vector<LinkRecord> of(std::string_view user) const;
  std::vector<LinkRecord> all() const { return links_.all(); }
  std::optional<LinkRecord> find(std::string_view id) const { return links_.find(id); }
  /// One that does not exist is no error.
  Result<void> revoke(std::string_view id);
  Result<void> revoke_all_of(std::string_view user);
  /// Whose secret this is; nothing: of none that is good.
  std::optional<LinkRecord> check(std::string_view secret) const;
  /// Forgets what has expired.
  Result<void> tidy();

  static constexpr std::size_t kMostOfUser = 1000;
  static constexpr std::size_t kMostRuns = 100;

 private:
  const Clock& clock_;
  Kept<LinkRecord> links_;
};

/// The study of a run; empty: it has none, or there is no such run. Any thread.
using StudyOfRun = std::function<std::string(std::string_view run)>;

/// Whether a link shows what was asked for: a run or study that it names, a run of the study that it names, the list of
/// these (`study=ID`), a report on them by their ids; and what metrics mean. Nothing below any other path. `denied`
/// otherwise, in words that do not say whether the thing exists.
Result<void> check_link(const LinkRecord& link, const Asked& asked, const StudyOfRun& study_of);

}  // namespace assay
