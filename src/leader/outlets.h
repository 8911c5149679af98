#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/supervised_thread.h"
#include "model/alert.h"
#include "outlets/outlet.h"

namespace assay {

/// Hands alerts to the outside, to each outlet one after the other on a thread of its own: a slow outlet holds up
/// nothing but its own next alert. What waits for one beyond `kMaxWaiting` is dropped, with a line in the log.
class Outlets {
 public:
  explicit Outlets(std::vector<std::unique_ptr<Outlet>> outlets);
  /// Breaks off what can be; what still waits then is dropped, with a line in the log.
  ~Outlets();

  /// `change` is "raised" or "resolved". Never blocks; any thread.
  void send(std::string_view change, const Alert& alert);
  /// Why the newest alert did not get out, somewhere; nothing if it did.
  std::string problem() const;

  static constexpr std::size_t kMaxWaiting = 256;

 private:
  class Lane;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

/// {"change", "text", "alert"}: `text` is what chat systems show.
std::string outlet_body(std::string_view change, const Alert& alert);

}  // namespace assay
