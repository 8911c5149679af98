#pragma once

#include <map>
#include <string>

#include "machine/machine.h"

namespace assay {

/// What a leader shows of a node beside its telemetry: host, os, kernel, cpu, cpus, memory_bytes. What is not known is
/// left out. Reads a few files, starts nothing.
std::map<std::string, std::string> node_facts(const MachineView& view);

/// The address of this machine from which it would reach that host: that by which its neighbours know it, as a rule.
/// Sends nothing; may ask the name service. Empty where nobody knows.
std::string address_towards(const std::string& host, int port);

/// The name of this machine up to the first dot.
std::string short_host_name();

}  // namespace assay
