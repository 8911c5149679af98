#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/api_type.h"
#include "store/bucket_answer.h"

namespace assay {

// What the API says of telemetry.

struct SeriesEntry {
  std::string name;
  std::map<std::string, std::string> labels;
  std::string unit;
};
struct SeriesList {
  std::vector<SeriesEntry> series;
  std::string next;
};
struct ErasedSeries {
  std::uint64_t series = 0;
};

template <>
const ApiEnum<SeriesTier>& api_enum();

template <>
const ApiType<SeriesEntry>& api_type();
template <>
const ApiType<SeriesList>& api_type();
template <>
const ApiType<ErasedSeries>& api_type();
template <>
const ApiType<SeriesAnswer::Row>& api_type();
template <>
const ApiType<SeriesAnswer>& api_type();

}  // namespace assay
