#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace assay {

/// What a job writes: standard output, standard error, and the events of the workload protocol; and what its place has
/// measured of its machines meanwhile, as lines that mean something to whoever asked for them.
enum class JobStream : std::uint8_t { out, error, events, readings };
inline constexpr std::array kJobStreams = {JobStream::out, JobStream::error, JobStream::events, JobStream::readings};

/// One of something for each stream.
template <typename T>
struct PerStream {
  std::array<T, kJobStreams.size()> values{};
  T& operator[](JobStream stream) { return values[static_cast<std::size_t>(stream)]; }
  const T& operator[](JobStream stream) const { return values[static_cast<std::size_t>(stream)]; }
};

inline bool all_of(const PerStream<bool>& streams) {
  return std::find(streams.values.begin(), streams.values.end(), false) == streams.values.end();
}
inline bool any_of(const PerStream<bool>& streams) {
  return std::find(streams.values.begin(), streams.values.end(), true) != streams.values.end();
}

}  // namespace assay
