// libFuzzer entry: whatever the text, a kubeconfig and the answer of a credential program are read or refused with a
// message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launch/kubernetes/kube_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto config = read_kube_config(text, "config"); !config && config.error().message.empty()) std::abort();
  const auto credential = read_exec_credential(text);
  if (!credential && credential.error().message.empty()) std::abort();
  if (credential && credential->token.empty() && credential->identity.certificate.empty()) std::abort();
  return 0;
}
