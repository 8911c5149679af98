#include <string_view>

#include "fleet/fleet_recording.h"

// The file as it is, between two names. As an array in C++ it would take the compiler minutes and a gigabyte.
__asm__(
    ".pushsection .rodata\n"
    ".globl assay_fleet_recording_begin\n"
    ".globl assay_fleet_recording_end\n"
    "assay_fleet_recording_begin:\n"
    ".incbin \"" ASSAY_FLEET_RECORDING
    "\"\n"
    "assay_fleet_recording_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const char assay_fleet_recording_begin[];
extern const char assay_fleet_recording_end[];
}

namespace assay {

Result<Recording> built_in_recording() {
  const auto size = static_cast<std::size_t>(assay_fleet_recording_end - assay_fleet_recording_begin);
  return parse_recording({assay_fleet_recording_begin, size}).within("reading the built-in recording");
}

}  // namespace assay
