#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

struct AgentHello;
struct Batch;

/// At most `limit` bytes from the start of UTF-8 text, cut between two characters: half a character would make
/// everything unreadable that it is written into.
std::string shortened(std::string_view text, std::size_t limit);

/// Makes every text of a batch one that JSON can hold and a terminal can show in one line (see `printable`): an agent
/// may send any bytes, what is kept must be readable after a restart, and a name must not look like another row.
void make_readable(Batch& batch);
/// The same of what an agent says of itself.
AgentHello readable(AgentHello hello);

}  // namespace assay
