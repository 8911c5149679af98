#pragma once

namespace assay {

/// Gives back the pages of the program itself that were needed to start: parsing options and the like touches code all
/// over it, which would stay resident for as long as an agent runs. What is needed again is mapped again.
void release_start_up_pages();

}  // namespace assay
