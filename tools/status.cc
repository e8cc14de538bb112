#include "tools/status.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"
#include "replication/admin/admin_client.h"
#include "replication/metrics/json.h"
#include "replication/transport/certificate.h"
#include "tools/copy_progress.h"
#include "tools/json_fields.h"
#include "tools/with_noun.h"

namespace rocksync {
namespace {

using Json = nlohmann::ordered_json;
using StatusFields = JsonFields<Json>;

// In the largest unit of which there are two.
std::string Length(uint64_t ms) {
  const uint64_t s = ms / 1000;
  if (s >= 2 * 86'400) return std::to_string(s / 86'400) + " days";
  if (s >= 2 * 3600) return std::to_string(s / 3600) + " h";
  if (s >= 2 * 60) return std::to_string(s / 60) + " min";
  return std::to_string(s) + " s";
}

// A time since the Unix epoch: as a date, and how long ago or ahead it is.
std::string Moment(uint64_t ms, uint64_t now_ms) {
  if (ms == 0) return "never";
  const std::string date = UtcText(ms);
  if (date.empty()) return std::to_string(ms);
  return date + (ms > now_ms ? " (in " + Length(ms - now_ms) + ")"
                             : " (" + Length(now_ms - ms) + " ago)");
}

// What the running session has done of what it found so far.
std::string InSession(const StatusFields& session) {
  const auto part = [&session](const char* done, const char* found) {
    return std::to_string(session.Number(done)) + " of " +
           std::to_string(
               std::max(session.Number(done), session.Number(found)));
  };
  return "in session: " + part("pairs_sent", "pairs_to_send") + " sent, " +
         part("pairs_received", "pairs_to_receive") + " received, " +
         InUnits(session.Number("bytes_total"));
}

// Of the fields in milliseconds, a lag and a silence are durations.
bool IsMoment(std::string_view name, const Json& value) {
  return value.is_number_unsigned() && name.ends_with("_ms") &&
         name != "lag_ms" && name != "silent_ms";
}

std::string Plain(const Json& value) {
  return PrintableAscii(value.is_string() ? value.get<std::string>()
                                          : value.dump());
}

// These have lines of their own. An empty one looks like one of names.
bool IsListOfObjects(std::string_view name, const Json& value) {
  if (!value.is_array()) return false;
  if (!value.empty()) return value[0].is_object();
  return name == "peers" || name == "clones";
}

// The ids, of which the next list is made; a long one is cut.
std::string MemberIds(const Json& list) {
  constexpr size_t kMost = 32;
  std::string ids;
  for (size_t i = 0; i < std::min(list.size(), kMost); ++i) {
    ids += (i == 0 ? "" : " ") + StatusFields(list[i]).Text("replica_id");
  }
  if (list.size() > kMost) {
    ids += " and " + std::to_string(list.size() - kMost) + " more (--json)";
  }
  return ids;
}

struct Line {
  std::string name;
  std::string value;
};

// Objects as "name.field".
void AddFields(const std::string& prefix, const Json& object, uint64_t now_ms,
               std::vector<Line>* lines) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      AddFields(prefix + name + ".", value, now_ms, lines);
    } else if (name == "member_list" && value.is_array()) {
      if (value.empty()) continue;
      lines->push_back({PrintableAscii(prefix + name), MemberIds(value)});
    } else if (!IsListOfObjects(name, value)) {
      lines->push_back({PrintableAscii(prefix + name),
                        IsMoment(name, value)
                            ? Moment(value.get<uint64_t>(), now_ms)
                            : Plain(value)});
    }
  }
}

// "name  value", one a line. A replica of another version, or a hostile one,
// may have names of any length.
void PrintFields(const Json& object, uint64_t now_ms, std::ostream& out) {
  constexpr size_t kMaxNameColumn = 40;
  std::vector<Line> lines;
  AddFields("", object, now_ms, &lines);
  size_t column = 0;
  for (const Line& line : lines) {
    column = std::max(column, std::min(line.name.size(), kMaxNameColumn));
  }
  for (const auto& [name, value] : lines) {
    out << name << std::string(column - std::min(name.size(), column) + 1, ' ')
        << value << "\n";
  }
}

std::string Ago(uint64_t at, uint64_t now_ms) {
  if (at == 0) return "never";
  return std::to_string((now_ms - std::min(at, now_ms)) / 1000) + " s ago";
}

void PrintPeers(const StatusFields& status, std::ostream& out) {
  const uint64_t now_ms = status.Number("wall_clock_ms");
  for (const Json& object : status.Part("peers")) {
    const StatusFields peer(object);
    const std::string id = peer.Text("replica_id");
    const bool met = id.find_first_not_of('0') != std::string::npos;
    out << "peer " << peer.Text("address") << " ("
        << (met ? id : std::string("not met since its start"))
        << "): proven equal "
        << Ago(peer.Number("last_proven_equal_ms"), now_ms) << ", "
        << WithNoun(peer.Number("sessions"), "session") << ", "
        << peer.Number("sessions_failed") << " failed sessions and attempts";
    if (!peer.Flag("configured", true)) out << ", not configured";
    if (peer.Flag("in_session")) {
      out << ", " << InSession(StatusFields(peer.Part("last_session")));
      const uint64_t silent_ms = peer.Number("silent_ms");
      if (silent_ms > 0) out << ", silent for " << silent_ms / 1000 << " s";
    }
    const StatusFields stream(peer.Part("stream"));
    if (stream.Number("open") > 0) {
      out << ", stream " << stream.Number("lag_ms") << " ms and "
          << WithNoun(stream.Number("lag_pairs"), "change") << " behind";
    }
    const std::string error = peer.Text("last_error");
    if (!error.empty()) out << "; last error: " << error;
    out << "\n";
  }
}

void PrintClones(const StatusFields& status, std::ostream& out) {
  for (const Json& object : status.Part("clones")) {
    const StatusFields clone(object);
    out << "clone " << clone.Text("replica_id") << " (" << clone.Text("address")
        << "): " << clone.Number("bytes_there") / 1'000'000 << " of "
        << clone.Number("bytes") / 1'000'000 << " MB, "
        << clone.Number("bytes_per_second") / 1'000'000 << " MB/s, "
        << clone.Number("seconds_left") << " s left\n";
  }
}

}  // namespace

rocksdb::Status PrintStatus(const std::string& text, bool as_json,
                            std::ostream& out) {
  const Json json = ParseJson<Json>(text);
  const rocksdb::Status status = CheckIsStatus(json);
  if (!status.ok()) return status;
  if (as_json) {
    out << PrintableAscii(text) << "\n";
    return rocksdb::Status::OK();
  }
  const StatusFields fields(json);
  PrintFields(json, fields.Number("wall_clock_ms"), out);
  PrintPeers(fields, out);
  PrintClones(fields, out);
  return status;
}

int RunStatus(const StatusToolOptions& options, std::ostream& out,
              std::ostream& err) {
  AdminTarget target;
  rocksdb::Status status =
      CheckAddress(options.replica, /*or_directory=*/false);
  if (status.ok()) status = MakeTarget(options.credentials, &target);
  target.address = options.replica;
  std::unique_ptr<AdminClient> admin_client;
  if (status.ok()) status = AdminClient::Open(target, Request(), &admin_client);
  std::string text;
  if (status.ok()) status = admin_client->Answer({}, &text);
  if (status.ok()) status = PrintStatus(text, options.json, out);
  if (!status.ok()) {
    err << "rocksync status: " << status.ToString() << "\n";
    return 2;
  }
  return 0;
}

}  // namespace rocksync
