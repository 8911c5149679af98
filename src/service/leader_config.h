#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "access/ldap_settings.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/units.h"
#include "config/config_table.h"
#include "net/listen_address.h"
#include "net/tls.h"

namespace assay {

/// What `assay serve` is told: by its file, the environment and flags. See docs/reference/configuration.md.
struct LeaderConfig {
  std::vector<ListenAddress> listen;
  fs::path data;         ///< empty: the user's own data folder
  fs::path certificate;  ///< empty: the leader makes its own where it needs one
  fs::path key;
  bool tls = false;
  Pinned pin = Pinned::certificate;  ///< what join tokens say of the leader
  std::vector<std::string> names;
  fs::path rules;  ///< empty: the standard ones
  std::vector<std::string> webhooks;
  std::string alert_command;  ///< empty: none
  Nanos keep_raw{};
  Nanos keep_minutes{};
  Nanos keep_hours{};
  Nanos keep_events{};
  std::size_t events_per_node = 0;
  std::size_t events_per_hour = 0;
  std::size_t series_per_node = 0;
  Bytes bytes_per_node;
  Bytes bytes_per_run;
  Nanos retry_wait{};
  Nanos lost_after{};
  std::string slurm_from;  ///< a node; empty: nothing is said of Slurm
  std::size_t workers = 0;
  LdapSettings ldap;
  fs::path backup_to;  ///< empty: no scheduled backups
  Nanos backup_every{};
  std::size_t backup_keep = 0;
  bool anonymous = false;
  bool behind_proxy = false;
  Nanos session_idle{};
  Nanos session_length{};

  /// Whether other machines can reach it.
  bool is_reachable() const;
  /// Whether it speaks TLS with a certificate that it makes itself.
  bool makes_certificate() const { return certificate.empty() && (tls || is_reachable()); }
};

const ConfigTable<LeaderConfig>& leader_table();

}  // namespace assay
