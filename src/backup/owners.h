#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>

namespace assay {

/// Names of users and groups, and what numbers they have on this machine; each is looked up once. Not thread-safe.
class OwnerNames {
 public:
  /// Empty where it has none.
  const std::string& user(uid_t id);
  const std::string& group(gid_t id);
  std::optional<uid_t> user_id(const std::string& name);
  std::optional<gid_t> group_id(const std::string& name);

 private:
  std::map<uid_t, std::string> users_;
  std::map<gid_t, std::string> groups_;
  std::map<std::string, std::optional<uid_t>> user_ids_;
  std::map<std::string, std::optional<gid_t>> group_ids_;
};

}  // namespace assay
