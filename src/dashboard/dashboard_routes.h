#pragma once

#include <span>
#include <string>

#include "dashboard/embedded_files.h"

namespace assay {

class Router;

/// Adds `/` and every file of the dashboard, for anybody. At `/` a browser gets the dashboard (or a page that says that
/// there is none) and every other program `welcome`. The files must outlive the router. A client that takes no gzip
/// is refused with 406: there is no browser like that.
void add_dashboard_routes(Router& router, std::span<const DashboardFile> files, std::string welcome);

}  // namespace assay
