#pragma once

#include "base/byte_stream.h"

namespace assay {

/// The body of a request that arrives, or of an answer or an upload that is being made. A length that it gives is that
/// of the HTTP message: a body of another one is broken off.
using BodySource = ByteSource;
using BodySink = ByteSink;

}  // namespace assay
