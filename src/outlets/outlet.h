#pragma once

#include <stop_token>
#include <string>

#include "base/result.h"

namespace assay {

/// One way in which people outside hear of alerts.
class Outlet {
 public:
  virtual ~Outlet() = default;

  /// How messages name it, without anything that is secret: "chat.example.org:443", "the command for alerts".
  virtual std::string name() const = 0;
  /// Hands over `{"change", "text", "alert"}`. Blocks as long as its own limits allow; where `stop` is requested it
  /// ends soon, delivered or not. One caller at a time. The words of an error hold nothing that is secret, either.
  virtual Result<void> deliver(const std::string& body, const std::stop_token& stop) = 0;
};

}  // namespace assay
