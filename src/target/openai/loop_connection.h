#pragma once

// What the sources of ClientLoop share; not for others.

#include <cstddef>
#include <cstdint>
#include <string>

#include "target/openai/answer_reader.h"
#include "target/openai/client_loop.h"
#include "target/openai/link.h"

namespace assay {

inline SteadyTime steady_now() { return std::chrono::time_point_cast<Nanos>(std::chrono::steady_clock::now()); }

/// A connection and the request that is under way on it.
struct ClientLoop::Connection {
  enum class State { closed, connecting, busy, idle };
  Connection(bool token_times, bool texts) : answer(token_times, texts) {}

  Link link;
  AnswerReader answer;
  State state = State::closed;
  Pending pending;
  bool reused = false;
  bool watches_writing = false;
  std::string out;
  std::size_t out_at = 0;
  std::uint32_t input_estimate = 0;
  SteadyTime opened{};
  SteadyTime sent{};  ///< the first byte on this connection; a request that is sent again is sent anew
};

}  // namespace assay
