// Statistics as text, for monitoring and for people. Pure functions of what
// Replicator::stats returns: no thread, no socket, no clock. An application
// serves the text from the port that it has, or runs `rocksync exporter`.

#ifndef ROCKSYNC_METRICS_H_
#define ROCKSYNC_METRICS_H_

#include <string>
#include <vector>

#include "rocksync/stats.h"
#include "rocksync/verify.h"

namespace rocksync {

// The Content-Type of PrometheusText.
inline constexpr char kPrometheusContentType[] =
    "text/plain; version=0.0.4; charset=utf-8";

// Prometheus' text format, version 0.0.4. Every name begins with "rocksync_";
// units are seconds and bytes; counters end in "_total" and start at 0 when the
// replicator or the database is opened. Each sample has the labels `replica`,
// 16 hex digits, and `cluster_name`. What concerns a peer has the label `peer`:
// its address in the options, written as in StatsJson, or its replica id if it
// has none there, as the port that it comes from changes. So the label is the
// same after a restart; rocksync_peer_info has the id that belongs to it.
// docs/monitoring.md lists all metrics.
//
// Takes several replicas, as a page must not name a metric twice: those of a
// SharedListener, for example, which have one id in several clusters. A replica
// that is in the list twice is told once, as the first of the two.
std::string PrometheusText(const std::vector<ReplicationStats>& replicas);

// One JSON object, on one line, with every field of `stats` under its name in
// `rocksync status --json` (docs/operating.md), which has more:
// Replicator::StatusJson. Bytes that are not printable ASCII become
// '?', and ids are 16 hex digits.
std::string StatsJson(const ReplicationStats& stats);

// In the same way, what ReplicatorOptions::progress is told of a session (the
// fields of `last_session` there, with `peer`, `elements`, `quarantined_there`
// and `error`), and what Replicator::Verify found (the last line of `rocksync
// verify --json`).
std::string SessionJson(const SessionProgress& session);
std::string VerifyJson(const VerifyResult& result);

}  // namespace rocksync

#endif  // ROCKSYNC_METRICS_H_
