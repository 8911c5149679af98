#include <cstddef>
#include <cstdint>
#include <string>

#include "bytes/varint.h"
#include "store/journal/journal_frames.h"
#include "store/journal/journal_reader.h"

namespace {

/// Frames with good checksums around foreign payloads: an agent can send those, chance would not find them.
std::string sealed(std::string_view input) {
  std::string journal;
  assay::ByteReader reader(input);
  while (!reader.rest().empty()) {
    const auto start = journal.size();
    assay::begin_frame(journal, reader.byte());
    const auto payload = reader.text();
    if (!reader.ok()) return journal.substr(0, start);
    journal.append(payload);
    assay::seal_frame(journal, start, start);
  }
  return journal;
}

}  // namespace

// A journal may come from an agent, a damaged disk or somebody's hand: whatever its bytes, it is read to its end.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  for (const auto& bytes : {input, sealed(input)}) {
    assay::JournalInMemory journal(bytes);
    assay::JournalVisitor visitor;
    for (const auto owner : {assay::JournalOwner::live, assay::JournalOwner::finished}) {
      const auto end = assay::JournalReader(journal, "journal").read(0, owner, visitor);
      if (!end.ok() || *end > bytes.size()) __builtin_trap();
    }
    if (assay::whole_frames(bytes, 0) > bytes.size()) __builtin_trap();
    const auto groups = assay::JournalReader(journal, "journal").end_of_groups();
    if (!groups.ok() || *groups > bytes.size()) __builtin_trap();
  }
  return 0;
}
