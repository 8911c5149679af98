#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "net/http_client.h"

namespace assay {

struct Url;

/// Asks an API server as its administrator, for fixtures that set things up or play a part of the cluster. Any thread.
class ClusterCalls {
 public:
  ClusterCalls(const Url& server, const fs::path& authority, std::string token);

  struct Answer {
    int status = 0;  ///< 0: no answer
    json::object body;
    bool ok() const { return status >= 200 && status < 300; }
    std::string text() const;
  };
  Answer get(const std::string& target) { return call("GET", target); }
  Answer post(const std::string& target, const json::object& body) { return call("POST", target, body); }
  /// Lists of conditions and of containers are merged, as kubelets want it.
  Answer patch(const std::string& target, const json::object& body) { return call("PATCH", target, body); }
  Answer remove(const std::string& target, const json::object& options = {}) { return call("DELETE", target, options); }

 private:
  Answer call(const std::string& method, const std::string& target, const json::object& body = {});

  const std::string token_;
  std::mutex mutex_;
  std::unique_ptr<HttpClient> client_;
};

}  // namespace assay
