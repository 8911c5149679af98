#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/headers.h"

namespace assay {

/// Turns bytes into one response, wherever the pieces are cut; interim responses (100 Continue) are passed over. The
/// content can be taken while it arrives. Errors are of kind io (not HTTP) or lost_peer (cut short). Not thread-safe.
class ResponseParser {
 public:
  /// `head_only`: answers a HEAD request, so there is no body whatever the header says.
  ResponseParser(bool head_only, std::size_t header_bytes);
  ~ResponseParser();

  /// The number of bytes taken from the front of `input`; the rest must come again, with more behind it.
  Result<std::size_t> take(std::string_view input);
  /// The other end has closed. Fine for a body without a length, an error in the middle of anything else.
  Result<void> end_of_input();

  bool head_complete() const;
  bool complete() const;
  /// An interim response has come: 100 Continue.
  bool told_to_continue() const { return told_to_continue_; }
  bool keep_alive() const;  ///< the connection can be used again once complete
  int status() const;
  Headers headers() const;
  /// What of the body has arrived since the last call.
  std::string take_content();

 private:
  struct Parser;
  void begin();

  bool head_only_;
  std::size_t header_bytes_;
  bool told_to_continue_ = false;
  std::unique_ptr<Parser> parser_;
};

}  // namespace assay
