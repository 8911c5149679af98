#pragma once

namespace assay {

struct AgentHello;
struct Batch;

/// Makes every text of a batch one that JSON can hold and a terminal can show in one line (see `printable`): an agent
/// may send any bytes, what is kept must be readable after a restart, and a name must not look like another row.
void make_readable(Batch& batch);
/// The same of what an agent says of itself.
AgentHello readable(AgentHello hello);

}  // namespace assay
