"""No header outside base and model is compiled into more than 60 files, but for those that are listed here with what they may.

The list only ever gets shorter: a header that reaches more than it may fails, and so does an entry that is no longer needed.
The values of model/ are free: whoever works with a run names `Run`. What to do about a header: declare a type instead of
including it (`class X;` for whatever is only passed on, `enum class X : int;`), move values away from the interface that
hands them over, move a body from a header to its .cpp. `scripts/rebuild_cost.py` says what each costs in seconds.
"""

import unittest

import includes

MOST = 60
SPARE = 10  # so that a few new tests of somebody else's do not stop a branch
FREE = ("src/base/", "src/model/")  # small, seldom changed, and what everything is made of
MAY_REACH = {
    # What routes answer and what is asked of servers.
    "src/net/client_messages.h": 75,
    "src/net/headers.h": 180,
    "src/net/http_message.h": 120,
    "src/net/route_options.h": 90,
    "src/net/router.h": 70,
    "src/net/sse_limits.h": 90,
    "src/net/tls_files.h": 70,
    "src/net/tls_trust.h": 90,
    "src/net/url.h": 150,
    # Where runs and series are kept.
    "src/store/run_store.h": 130,
    "src/store/series_store.h": 70,
    "src/store/series_types.h": 120,
    "src/store/timed_value.h": 130,
    # What sources read and agents send.
    "src/protocol/batch.h": 70,
    "src/telemetry/devices.h": 140,
    "src/telemetry/reading.h": 80,
    "src/telemetry/sample.h": 90,
    "src/telemetry/telemetry_event.h": 120,
    # Types of the API: templates that every description of a type needs.
    "src/api/api_codec.h": 80,
    "src/api/api_info.h": 90,
    "src/api/api_parts.h": 80,
    "src/api/api_type.h": 80,
    # What reports and tables are made of.
    "src/analysis/interval.h": 80,
    "src/report/chart/chart.h": 80,
    "src/report/text/align.h": 90,
    # Who somebody is, what is wrong with settings.
    "src/access/token_record.h": 90,
    "src/config/diagnostic.h": 70,
}


class HeaderReach(unittest.TestCase):
    def test_no_header_reaches_more_files_than_it_may(self):
        reach = {header: len(users) for header, users in includes.reached().items() if not header.startswith(FREE)}
        self.assertGreater(len(reach), 300)
        beyond = {header: count for header, count in reach.items() if count > MAY_REACH.get(header, MOST + SPARE)}
        self.assertEqual(beyond, {}, "files that include it, directly or not")

    def test_what_may_reach_more_does(self):
        reach = includes.reached()
        needless = [header for header in MAY_REACH if len(reach.get(header, ())) <= MOST]
        self.assertEqual(needless, [], "take it off the list")


if __name__ == "__main__":
    unittest.main()
