#pragma once

#include <cstdint>
#include <string>

#include "bytes/frame.h"

namespace assay {

/// What the frames of a run's journal hold.
enum class FrameKind : std::uint8_t {
  series = 1,  ///< name, unit, number of labels, labels: each as varint length and text
  points = 2,  ///< offset of the frame that defines the series (varint), chunk (bytes/chunk.h)
  event = 3,   ///< time in ns (8), JSON text
  output = 4,  ///< stream (1), time in ns (8), bytes
  end = 5,     ///< empty: the writer finished in good order
  mark = 6,    ///< JSON text: what whoever goes on from here must know; changes of what the marks before it said
  group = 7,   ///< whole frames of the kinds above, the last of them a mark: there with all of them, or not at all
};

inline void begin_frame(std::string& buffer, FrameKind kind) { begin_frame(buffer, static_cast<std::uint8_t>(kind)); }
inline FrameKind kind_of(const FrameView& frame) { return static_cast<FrameKind>(frame.kind); }

}  // namespace assay
