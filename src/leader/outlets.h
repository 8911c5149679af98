#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/supervised_thread.h"
#include "model/alert.h"
#include "outlets/outlet.h"

namespace assay {

class NoticeTable;

/// How long an outlet that does not take anything is tried again.
struct OutletPatience {
  Nanos first_pause = std::chrono::seconds(10);  ///< then twice as long each time
  Nanos longest_pause = std::chrono::minutes(5);
  Nanos keep = std::chrono::hours(24);  ///< what is older is of no use to anybody
};

/// Hands alerts to the outside, to each outlet one after the other on a thread of its own: a slow outlet holds up
/// nothing but its own next alert. What could not be delivered waits, also while the leader is started anew, and is
/// tried again: what waits for one beyond `kMaxWaiting`, or for longer than `OutletPatience::keep`, is dropped, with a
/// line in the log.
class Outlets {
 public:
  /// Goes on with what the table has. It and the clock must outlive this. Errors are those of the table.
  static Result<std::unique_ptr<Outlets>> load(std::vector<std::unique_ptr<Outlet>> outlets, NoticeTable& table,
                                               const Clock& clock, OutletPatience patience = {});
  /// Breaks off what can be; what still waits then is sent when the leader is started again.
  ~Outlets();

  struct News {
    std::string_view change;  ///< "raised" or "resolved"
    Alert alert;
  };
  /// Waits for the disk, never for an outlet; where the disk takes nothing, the news are kept in memory alone. Any
  /// thread.
  void send(std::span<const News> news);

  struct Problem {
    std::string outlet;
    std::string text;
    WallTime since;
  };
  /// Outlets that did not take the newest alert that they were given.
  std::vector<Problem> problems() const;

  static constexpr std::size_t kMaxWaiting = 256;

 private:
  class Lane;
  Outlets(NoticeTable& table, const Clock& clock);

  NoticeTable& table_;
  const Clock& clock_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

/// {"change", "text", "alert"}: `text` is what chat systems show.
std::string outlet_body(std::string_view change, const Alert& alert);

}  // namespace assay
