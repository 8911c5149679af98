#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

/// Bytes as text of the alphabet of RFC 4648, padded.
std::string to_base64(std::string_view bytes);
/// The way back; line ends and blanks are passed over. Nothing if it is not Base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace assay
