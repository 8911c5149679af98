#pragma once

#include <memory>

#include "base/result.h"
#include "requests/lengths.h"
#include "requests/request_set.h"

namespace assay {

struct ConversationOptions {
  RequestSeed seed;
  std::uint32_t turns = 4;              ///< requests of one conversation
  std::uint32_t active = 16;            ///< conversations at a time: a turn follows `active` requests after the last
  std::uint32_t system_tokens = 32;     ///< of the system message, the same in every conversation; 0: none
  Lengths input = Lengths::fixed(64);   ///< of one question
  Lengths output = Lengths::fixed(64);  ///< of one answer
};

/// Chats of several turns: turn t asks with every question and answer before it, so that a prefix cache has the work
/// that a chat gives it. The answers in the history are words as long as what was asked for, not what the server said:
/// so request i depends on nothing but (seed, i). Endless. Error (`bad_spec`): no turn, or nothing active.
Result<std::unique_ptr<RequestSet>> make_conversations(ConversationOptions options);

}  // namespace assay
