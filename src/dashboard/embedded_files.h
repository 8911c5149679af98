#pragma once

#include <span>
#include <string_view>

namespace assay {

/// A file of the dashboard. Everything in it lives as long as the program.
struct DashboardFile {
  std::string_view path;  ///< "index.html", "assets/index-Bk3xQ.js"
  std::string_view type;  ///< "text/html; charset=utf-8"
  std::string_view etag;  ///< quoted, of the content
  std::string_view gzip;  ///< the content, compressed
};

/// What is in this program; empty where it was built without Node. Only programs link it (assay_dashboard_files).
std::span<const DashboardFile> embedded_dashboard();

}  // namespace assay
