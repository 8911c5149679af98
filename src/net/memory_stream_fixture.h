#pragma once

#include <algorithm>
#include <boost/asio/error.hpp>
#include <string>
#include <string_view>

#include "net/stream.h"

namespace assay {

/// A connection without a network, for tests: the other end has already sent everything, and closed. What is written
/// is collected.
class MemoryStream final : public Stream {
 public:
  /// Reads give at most `piece` bytes at a time. `written` must outlive the stream.
  MemoryStream(const IoExecutor& executor, std::string_view input, std::size_t piece, std::string& written)
      : executor_(executor), input_(input), piece_(piece), written_(written) {}

  IoTask<Result<void>> open() override { co_return Result<void>(); }
  IoTask<IoOutcome> read_some(std::span<char> buffer) override {
    const std::size_t size = std::min({piece_, buffer.size(), input_.size()});
    if (size == 0 || closed_) co_return IoOutcome(asio::error::eof, 0);
    std::copy_n(input_.begin(), size, buffer.begin());
    input_.remove_prefix(size);
    co_return IoOutcome({}, size);
  }
  IoTask<IoOutcome> write_some(std::string_view bytes) override {
    if (closed_) co_return IoOutcome(asio::error::broken_pipe, 0);
    written_ += bytes;
    co_return IoOutcome({}, bytes.size());
  }
  IoTask<void> end_writing() override { co_return; }
  void cancel() override {}
  void close() override { closed_ = true; }
  bool quiet() override { return false; }
  IoExecutor executor() override { return executor_; }

 private:
  IoExecutor executor_;
  std::string_view input_;
  std::size_t piece_;
  std::string& written_;
  bool closed_ = false;
};

}  // namespace assay
