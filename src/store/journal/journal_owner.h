#pragma once

namespace assay {

/// What is known of the process that writes a journal; decides what an unfinished end means.
enum class JournalOwner {
  live,      ///< a frame that is not whole is not written yet: left for the next reading, without a word
  awaited,   ///< it is gone, but another one can go on, and writes that frame anew: as `live`
  gone,      ///< such a frame is damage
  finished,  ///< and so is a missing end mark
};

}  // namespace assay
