#include "net/piece_budget.h"

#include "net/io.h"

namespace assay {

void PieceBudget::let_in() {
  while (!waiting_.empty() && has_room_for(waiting_.front()->bytes_)) {
    PieceTurn* turn = waiting_.pop();
    turn->granted_ = true;
    taken_ += turn->bytes_;
    turn->wakeup_.notify();
  }
}

PieceTurn::PieceTurn(PieceBudget& budget, std::size_t caller, std::size_t bytes, Wakeup& wakeup)
    : budget_(budget), caller_(caller), bytes_(bytes), wakeup_(wakeup) {
  // Who comes last waits behind who waits already, also where its own piece would fit.
  budget_.waiting_.push(caller_, this);
  budget_.let_in();
}

PieceTurn::~PieceTurn() {
  if (granted_) {
    budget_.taken_ -= bytes_;
  } else {
    budget_.waiting_.remove(caller_, this);
  }
  budget_.let_in();
}

void PieceTurn::resize(std::size_t bytes) {
  budget_.taken_ += bytes;
  budget_.taken_ -= bytes_;
  bytes_ = bytes;
  budget_.let_in();
}

}  // namespace assay
