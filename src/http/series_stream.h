#pragma once

#include <cstddef>

#include "base/result.h"

namespace assay {

class SeriesStore;
struct HttpResponse;
struct SeriesQuery;

/// How an answer to a query is made.
struct SeriesStreamLimits {
  std::size_t whole_buckets = 20'000;  ///< up to here at once, and from one moment: about a megabyte of JSON
  std::size_t piece_buckets = 4096;    ///< read at a time otherwise: a quarter of a megabyte
};

/// The answer to a query as JSON (see series_answer.h). A large one is read, written and dropped piece by piece while
/// the client takes it, so that its size does not matter to the memory; its series are in order of their names and
/// labels then, and each is as it was when its turn came. `usage` if it would be larger than the
/// store's limits allow, found out from the number of points before any of them is read. The store must outlive the
/// response.
Result<HttpResponse> answer_query(const SeriesStore& store, const SeriesQuery& query, SeriesStreamLimits limits = {});

}  // namespace assay
