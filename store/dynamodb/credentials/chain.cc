// All sources in their order.
#include <string>
#include <utility>
#include <vector>

#include "store/dynamodb/credentials/profile_files.h"
#include "store/dynamodb/credentials/sources.h"

namespace stint::store::dynamodb {
namespace {

struct Source {
  std::string name;
  Fetched (*fetch)(FetchContext& cx);
};

std::vector<Source> sources_in_order(const FetchContext& cx) {
  std::vector<Source> sources;
  // Who names a profile means it, whatever else is set.
  if (cx.options.profile.empty()) {
    sources.push_back({"environment", &fetch_from_environment});
    sources.push_back({"web identity", &fetch_from_web_identity});
  }
  sources.push_back({"profile \"" + profile_name(cx.surroundings, cx.options.profile) + "\"",
                     &fetch_from_profile});
  sources.push_back({"container endpoint", &fetch_from_container});
  sources.push_back({"instance metadata", [](FetchContext& context) {
                       return fetch_from_metadata(context, MetadataUse::kLastResort);
                     }});
  return sources;
}

}  // namespace

Result<Credentials> fetch_credentials(FetchContext& cx) {
  std::string tried;
  bool may_pass = false;
  auto note = [&tried](const Source& source, const std::string& reason) {
    tried.append(tried.empty() ? "" : "; ").append(source.name).append(": ").append(reason);
  };
  for (const Source& source : sources_in_order(cx)) {
    Fetched result = source.fetch(cx);
    if (Credentials* credentials = std::get_if<Credentials>(&result)) {
      return std::move(*credentials);
    }
    if (const Absent* absent = std::get_if<Absent>(&result)) {
      note(source, absent->reason);
      may_pass = may_pass || absent->lack == Lack::kPassing;
      continue;
    }
    const Broken& broken = std::get<Broken>(result);
    note(source, broken.reason);
    may_pass = broken.lack == Lack::kPassing;
    break;
  }
  return Error(may_pass ? ErrorCode::kUnavailable : ErrorCode::kAccessDenied,
               "no credentials: " + cx.secrets.hidden(tried));
}

}  // namespace stint::store::dynamodb
