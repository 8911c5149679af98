#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/supervised_thread.h"
#include "model/alert.h"

namespace assay {

/// Where alerts go besides the API.
struct OutletOptions {
  std::vector<std::string> webhooks;  ///< URLs that get each alert as a POST with a JSON body; must answer 2xx
  std::vector<std::string> command;   ///< a program and its arguments, which gets the same JSON on its standard input
  Nanos deadline = std::chrono::seconds(10);
  int attempts = 3;  ///< of a webhook
  Nanos first_pause = std::chrono::seconds(1);
};

/// Hands alerts to the outside, one after the other, on a thread of its own: a slow outlet holds up nothing but the
/// next alert. What waits beyond `kMaxWaiting` is dropped, with a line in the log.
class Outlets {
 public:
  /// `usage` for a URL that is none.
  static Result<std::unique_ptr<Outlets>> start(OutletOptions options);
  /// Breaks off a request that is under way and waits for a command that is; what still waits then is dropped, with a
  /// line in the log.
  ~Outlets();

  /// `change` is "raised" or "resolved". Never blocks; any thread.
  void send(std::string_view change, const Alert& alert);
  /// Why the newest alert did not get out, somewhere; nothing if it did.
  std::string problem() const;

  static constexpr std::size_t kMaxWaiting = 256;

 private:
  explicit Outlets(OutletOptions options);
  void run(const std::stop_token& stop);
  /// What went wrong, in words that are in the log, too.
  std::vector<std::string> deliver(const std::string& body, const std::stop_token& stop) const;
  /// What went wrong; nothing if all went well.
  std::string run_alert_command(const std::string& body) const;

  const OutletOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::string> waiting_;
  std::string problem_;
  SupervisedThread thread_;
};

/// {"change", "text", "alert"}: `text` is what chat systems show.
std::string outlet_body(std::string_view change, const Alert& alert);

}  // namespace assay
