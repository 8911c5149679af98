#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "base/files.h"

namespace assay {

/// A port of loopback that nobody has at this moment.
inline int free_port() {
  const FileDescriptor probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSAY_ASSERT(::bind(probe.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
  ASSAY_ASSERT(::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
  return ntohs(address.sin_port);
}

}  // namespace assay
