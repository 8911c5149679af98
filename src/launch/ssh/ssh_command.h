#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

/// How OpenSSH is called. Everything else is as the user has configured it: agent, keys, jump hosts, names.
struct SshSettings {
  std::string program = "ssh";
  fs::path config;  ///< instead of the user's own (`ssh -F`); empty: that one
  Nanos connect_timeout = std::chrono::seconds(15);
};

/// `'it'\''s'`: one word for a shell.
std::string shell_word(std::string_view text);

/// A name that is safe as an argument of ssh: not empty, no blank, no control character, no dash in front.
Result<void> check_host(std::string_view host);

/// ssh with the options that keep it from ever asking a person: no password, no unknown host key. With `control`, it
/// shares the connection whose socket that is.
std::vector<std::string> ssh_arguments(const SshSettings& settings, const fs::path& control, std::string_view host);

/// What ssh says when it fails, as an error for the user of assay: `denied` for keys and host keys, else `unreachable`.
Error ssh_error(std::string_view host, std::string_view said);

}  // namespace assay
