// libFuzzer entry: whatever slurmrestd answers is read or refused with words.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launch/slurm/slurm_rest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto answer = assay::parse_json({reinterpret_cast<const char*>(data), size});
  if (!answer) return 0;
  for (const auto& [id, record] : assay::parse_rest_jobs(*answer, std::nullopt)) {
    if (id <= 0 || record.state.empty()) std::abort();
  }
  const auto id = assay::parse_rest_submitted(*answer);
  if (id ? *id <= 0 : id.error().message.empty()) std::abort();
  if (assay::says_no_such_job(*answer) && assay::rest_error_in(*answer).empty()) std::abort();
  return 0;
}
