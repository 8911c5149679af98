#include "launch/hosted/merge_notes.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace assay {
namespace {

struct MergeNote {
  std::size_t stream = 0;
  std::size_t part = 0;
  std::uint64_t bytes = 0;
};

/// `0 1 4096`: of standard output, from the second part, so many bytes.
std::optional<MergeNote> parse_note(std::string_view line, std::size_t parts) {
  const auto words = split(line, ' ');
  if (words.size() != 3) return std::nullopt;
  MergeNote note;
  const auto number = [](std::string_view text, auto& into) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), into);
    return problem == std::errc() && end == text.data() + text.size();
  };
  if (!number(words[0], note.stream) || !number(words[1], note.part) || !number(words[2], note.bytes)) {
    return std::nullopt;
  }
  if (note.stream >= kJobStreams.size() || note.part >= parts) return std::nullopt;
  return note;
}

std::string line_for(const MergeNote& note) { return fmt::format("{} {} {}\n", note.stream, note.part, note.bytes); }

}  // namespace

Result<MergeNotes> MergeNotes::open(const fs::path& path, std::size_t parts, const PerStream<std::uint64_t>& taken) {
  MergeNotes notes;
  notes.merged_.resize(parts);
  std::string kept;
  PerStream<std::uint64_t> left = taken;
  std::error_code code;
  if (fs::exists(path, code)) {
    ASSAY_TRY(const auto text, read_file(path));
    for (std::string_view rest = text; rest.find('\n') != std::string_view::npos;) {
      const auto line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(line.size() + 1);
      auto note = parse_note(line, parts);
      if (!note) {
        return Error{
            .kind = ErrorKind::bad_file,
            .message = fmt::format("'{}' has a line that is no note of a merge: '{}'", path.string(), printable(line))};
      }
      note->bytes = std::min(note->bytes, left.values[note->stream]);
      left.values[note->stream] -= note->bytes;
      notes.merged_[note->part].values[note->stream] += note->bytes;
      if (note->bytes > 0) kept += line_for(*note);
    }
  }
  // What nobody noted was of the first part: the events always, and everything where the notes were lost.
  for (const auto stream : kJobStreams) notes.merged_.front()[stream] += left[stream];
  ASSAY_CHECK(write_file_atomically(path, kept));
  ASSAY_TRY(notes.file_, open_file(path, O_WRONLY | O_APPEND));
  return notes;
}

Result<void> MergeNotes::add(JobStream stream, std::size_t part, std::size_t bytes) {
  if (!file_) return {};
  merged_[part][stream] += bytes;
  return write_all(file_.get(), line_for({static_cast<std::size_t>(stream), part, bytes}));
}

}  // namespace assay
