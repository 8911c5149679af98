#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "config/config_reader.h"

namespace assay {

/// The programs that have a configuration.
enum class Service { leader, agent };
inline constexpr std::array kServices = {Service::leader, Service::agent};
std::optional<Service> service_from(std::string_view name);

const ConfigRows& rows_of(Service service);

/// Reads a configuration with everything that can be seen without starting the program.
ConfigReading read_service_config(Service service, const ConfigSources& sources);

/// What a file seems to be, by its keys and, where they leave it open, by its name.
struct FileKind {
  std::optional<Service> service;  ///< absent: nothing tells
  bool specification = false;      ///< it says what to measure
};
FileKind kind_of_file(const ConfigText& file);

/// docs/reference/configuration.md, made from the tables.
std::string configuration_reference();

}  // namespace assay
