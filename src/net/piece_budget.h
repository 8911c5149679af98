#pragma once

#include <cstddef>

#include "net/turn_queue.h"

namespace assay {

class Wakeup;
class PieceTurn;

/// Memory for pieces of answers that clients have not taken yet, one for all of them. When it is used up, callers wait
/// and take turns. I/O thread only.
class PieceBudget {
 public:
  std::size_t limit = 0;
  std::size_t taken() const { return taken_; }

 private:
  friend class PieceTurn;
  /// A piece larger than everything is made alone.
  bool has_room_for(std::size_t bytes) const { return taken_ == 0 || (bytes <= limit && taken_ <= limit - bytes); }
  void let_in();

  std::size_t taken_ = 0;
  TurnQueue<PieceTurn*> waiting_;
};

/// One piece's part of the budget, from before it is made until it was sent.
class PieceTurn {
 public:
  /// Asks for so many bytes. `wakeup` is notified when they are granted; both must outlive this.
  PieceTurn(PieceBudget& budget, std::size_t caller, std::size_t bytes, Wakeup& wakeup);
  PieceTurn(const PieceTurn&) = delete;
  PieceTurn& operator=(const PieceTurn&) = delete;
  ~PieceTurn();

  bool granted() const { return granted_; }
  /// So large it has become.
  void resize(std::size_t bytes);

 private:
  friend class PieceBudget;
  PieceBudget& budget_;
  std::size_t caller_;
  std::size_t bytes_;
  Wakeup& wakeup_;
  bool granted_ = false;
};

}  // namespace assay
