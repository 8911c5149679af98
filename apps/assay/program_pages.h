#pragma once

namespace assay {

/// Gives back the pages of the program itself. Parsing options, joining, copying a run touch code all over it, which
/// would stay resident for as long as an agent runs. What is needed again is mapped again.
void release_program_pages();

}  // namespace assay
