#include "launch/hosted/rank_output.h"

namespace assay {
namespace {

// A longer line is broken there: memory is bounded, and no log has one.
constexpr std::size_t kLongestMarkedLine = std::size_t{64} << 10;

}  // namespace

Result<void> RankOutput::add(std::string_view bytes) {
  if (mark_.empty()) return write_all(fd_, bytes);
  std::string marked;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (end == std::string_view::npos && line_.size() < kLongestMarkedLine) break;
    marked += mark_ + line_ + '\n';
    line_.clear();
  }
  return write_all(fd_, marked);
}

Result<void> RankOutput::finish() {
  if (line_.empty()) return {};
  const std::string rest = mark_ + line_ + '\n';
  line_.clear();
  return write_all(fd_, rest);
}

}  // namespace assay
