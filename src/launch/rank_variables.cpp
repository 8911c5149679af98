#include "launch/rank_variables.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/files.h"
#include "launch/job.h"

namespace assay {

std::map<std::string, std::string> rank_variables(const JobRanks& ranks, PartOfJob part, std::int64_t local,
                                                  const Rendezvous& rendezvous) {
  const std::int64_t size = part.of * ranks.per_node;
  if (size == 1) return {};
  return {{"RANK", std::to_string(part.number * ranks.per_node + local)},
          {"WORLD_SIZE", std::to_string(size)},
          {"LOCAL_RANK", std::to_string(local)},
          {"LOCAL_WORLD_SIZE", std::to_string(ranks.per_node)},
          {"MASTER_ADDR", rendezvous.address},
          {"MASTER_PORT", std::to_string(rendezvous.port)}};
}

int unused_port() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), plain, size) != 0 || ::getsockname(socket.get(), plain, &size) != 0) return 0;
  return ntohs(address.sin_port);
}

}  // namespace assay
