#include "backup/owners.h"

#include <grp.h>
#include <pwd.h>

#include <vector>

namespace assay {
namespace {

// More than any name service gives.
constexpr std::size_t kLookUpBytes = std::size_t{64} << 10;

template <typename Entry, typename Key, typename LookUp>
const Entry* look_up(LookUp function, Key key, Entry& entry, std::vector<char>& buffer) {
  Entry* found = nullptr;
  buffer.resize(kLookUpBytes);
  return function(key, &entry, buffer.data(), buffer.size(), &found) == 0 ? found : nullptr;
}

}  // namespace

const std::string& OwnerNames::user(uid_t id) {
  const auto [at, added] = users_.try_emplace(id);
  passwd entry{};
  std::vector<char> buffer;
  if (const auto* found = added ? look_up(::getpwuid_r, id, entry, buffer) : nullptr) at->second = found->pw_name;
  return at->second;
}

const std::string& OwnerNames::group(gid_t id) {
  const auto [at, added] = groups_.try_emplace(id);
  struct group entry{};
  std::vector<char> buffer;
  if (const auto* found = added ? look_up(::getgrgid_r, id, entry, buffer) : nullptr) at->second = found->gr_name;
  return at->second;
}

std::optional<uid_t> OwnerNames::user_id(const std::string& name) {
  const auto [at, added] = user_ids_.try_emplace(name);
  passwd entry{};
  std::vector<char> buffer;
  if (const auto* found = added ? look_up(::getpwnam_r, name.c_str(), entry, buffer) : nullptr) {
    at->second = found->pw_uid;
  }
  return at->second;
}

std::optional<gid_t> OwnerNames::group_id(const std::string& name) {
  const auto [at, added] = group_ids_.try_emplace(name);
  struct group entry{};
  std::vector<char> buffer;
  if (const auto* found = added ? look_up(::getgrnam_r, name.c_str(), entry, buffer) : nullptr) {
    at->second = found->gr_gid;
  }
  return at->second;
}

}  // namespace assay
