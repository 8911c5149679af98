#include "watch/xid_catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

// The meanings are those of NVIDIA's public documentation of XIDs; what to do is in our own words.
constexpr std::array kXids = {
    XidEntry{13, "The program did something that the GPU's engine rejects: an index out of bounds, a bad instruction.",
             "Debug the program (compute-sanitizer); if different programs do it on one GPU only, test that GPU "
             "(dcgmi diag -r 3).",
             true},
    XidEntry{31, "The program used an address that is not mapped.",
             "Debug the program (compute-sanitizer); if different programs do it on one GPU only, test that GPU "
             "(dcgmi diag -r 3).",
             true},
    XidEntry{43, "The program ran into a fault of its own and its work was stopped; the GPU is fine.",
             "Look at the program's own messages.", true},
    XidEntry{45, "What a program left on the GPU was removed after it was killed or hit another fault.",
             "Look for the XID before it, or for who ended the program.", true},
    XidEntry{48, "A memory error that could not be corrected: what was computed with that memory is lost.",
             "Drain the node and reset the GPU (nvidia-smi -r); if XID 63 or 64 came with it, do what they ask for. "
             "If it comes again, have the GPU replaced."},
    XidEntry{
        63, "A bad row (or page) of memory was noted and will be replaced by a spare one.",
        "The GPU goes on working. Drain the node when it suits and reset the GPU (nvidia-smi -r): that puts the spare "
        "row in place."},
    XidEntry{64, "A bad row (or page) of memory could not be replaced by a spare one.",
             "Drain the node and reset the GPU (nvidia-smi -r); if it comes again, have the GPU replaced."},
    XidEntry{74, "A fault on an NVLink connection.",
             "Drain the node and see which link fails (nvidia-smi nvlink -s and -e) and whether the GPU or the switch "
             "at its other end reports one, too; reset both or start the node again. If it comes again, have the link "
             "checked: contacts, bridge or baseboard."},
    XidEntry{79, "The GPU has fallen off the bus: the driver cannot reach it over PCIe.",
             "Drain the node and start it again (power off and on if that does not help). If it comes again, check "
             "power cables, seating and temperature, and have the GPU checked."},
    XidEntry{94, "A memory error that could not be corrected, but was kept to the program that met it.",
             "Start that program again; the others may go on. Reset the GPU (nvidia-smi -r) when the node is free."},
    XidEntry{95, "A memory error that could not be corrected or kept to one program: all on this GPU are doubtful.",
             "Drain the node at once and reset the GPU (nvidia-smi -r); without success start the node again. If it "
             "comes again, have the GPU replaced."},
    XidEntry{119, "The GPU's system processor (GSP) did not answer the driver in time.",
             "Drain the node and reset the GPU (nvidia-smi -r) or start the node again. If it comes again, try "
             "another driver version and report it (nvidia-bug-report.sh)."},
};

}  // namespace

std::span<const XidEntry> known_xids() { return kXids; }

const XidEntry* find_xid(double number) {
  const auto* const found = std::ranges::find_if(kXids, [&](const XidEntry& entry) { return entry.number == number; });
  return found == kXids.end() ? nullptr : found;
}

std::string xid_remedy(double number) {
  if (const XidEntry* entry = find_xid(number)) return fmt::format("{} {}", entry->meaning, entry->remedy);
  return "Look the number up in NVIDIA's XID catalogue; drain the node if it comes again.";
}

}  // namespace assay
