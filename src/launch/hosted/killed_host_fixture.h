#pragma once

#include <signal.h>

#include <string_view>

#include "launch/hosted/job_folder.h"

namespace assay {

/// kill -9 of whoever hosts the first part of a job in a folder of this machine. For tests of launchers.
inline bool kill_host(const JobFolder& folder) {
  const auto host = folder.read_host(0);
  return host && *host && ::kill((*host)->pid, SIGKILL) == 0;
}

}  // namespace assay
