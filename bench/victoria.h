#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "net/http_client.h"
#include "protocol/batch.h"

namespace assay::bench {

/// VictoriaMetrics, the store that people would take instead, with the same data: started here, fed by remote write as
/// agents would (one request per node and second), asked the same questions.
class Victoria {
 public:
  /// Null where the program is not installed.
  static std::unique_ptr<Victoria> start(const fs::path& folder);
  ~Victoria();

  /// The labels of a node's series, encoded once.
  std::vector<std::string> encode_labels(const std::vector<SeriesName>& names) const;
  void write(const std::vector<std::string>& labels, const std::vector<BatchSample>& samples);
  /// Makes what was written visible and merges it.
  void flush();
  /// The body of an answer.
  std::string get(const std::string& target);

  double cpu_seconds() const;
  double resident_bytes() const;
  double folder_bytes() const;

 private:
  Victoria(pid_t pid, fs::path folder, std::unique_ptr<HttpClient> client);

  pid_t pid_;
  fs::path folder_;
  std::unique_ptr<HttpClient> client_;
};

/// User and system time of a process.
double cpu_seconds_of(pid_t pid);
double resident_bytes_of(pid_t pid);

}  // namespace assay::bench
