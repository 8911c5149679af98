#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

namespace assay {

class RunStore;
struct TerminalStyle;

/// Which leader the user means, and how to be believed there.
struct LeaderChoice {
  std::string url;          ///< --leader; empty: the one of the data folder, if any
  std::string token_file;   ///< empty: $ASSAY_TOKEN_FILE, else the data folder's own token
  std::string fingerprint;  ///< of the leader's certificate
  std::string ca_file;
};

/// What every command shares: the options that stand before or after any of them, and how it answers.
struct Context {
  std::string command;     ///< "run", "show", …
  bool json = false;       ///< --json: one object on standard output and nothing else there
  bool quiet = false;      ///< --quiet
  bool no_colour = false;  ///< --no-color
  std::string data_option;
  LeaderChoice leader;
  std::map<std::string, std::string> environment;
  SystemClock clock;

  TerminalStyle out_style() const;
  TerminalStyle error_style() const;

  /// --data, ASSAY_DATA, $XDG_DATA_HOME/assay, ~/.local/share/assay.
  std::filesystem::path data_folder() const;
  /// The data folder, if that is where `open_store` finds runs; empty where a leader has them.
  std::string folder_of_runs() const { return leader.url.empty() ? data_folder().string() : std::string(); }
  /// The runs of the leader that was named, or those in the data folder, which is made if needed.
  Result<std::unique_ptr<RunStore>> open_store() const;

  // Each answers the user, as text or in the JSON envelope, and returns the exit code.

  /// With --json the envelope around `result`; without, nothing (the caller has printed its text).
  int succeed(json::object result) const;
  /// `exit_code` 0 means ok; anything else says that the result must not be relied on. `error` may be null.
  int answer(int exit_code, json::object result, const json::object* error) const;
  int fail(const Error& error) const;
};

json::object to_json(const Error& error);

/// Prints text to standard output. Any thread may call.
void print(std::string_view text);
/// Whether all that was printed has arrived; a reader that went away (`| head`) is no error.
Result<void> check_printed();
/// Prints text to standard error.
void print_error(std::string_view text);

std::map<std::string, std::string> process_environment();
/// The path of this binary.
std::filesystem::path self_path();

}  // namespace assay
