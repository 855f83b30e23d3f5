#include "ops/version.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/release.h"
#include "schema/keys.h"

namespace stint::ops {
namespace {

constexpr std::string_view kActsAs = "0.17.0";
constexpr Release kActsAsRelease(0, 17, 0);
constexpr std::int64_t kSchemaGeneration = 0;
constexpr int kRaiseAttempts = 3;  // rules 5.11

struct FeatureFacts {
  std::string_view minimum;
  Release release;
  const char* name;
};

FeatureFacts facts_of(Feature feature) {
  switch (feature) {
    case Feature::kSessionLimits: return {"0.15.0", Release(0, 15, 0), "session limits"};
    case Feature::kCascadePolicy: return {"0.16.0", Release(0, 16, 0), "a cascade policy"};
    case Feature::kSoftness: break;
  }
  return {"0.17.0", Release(0, 17, 0), "soft limits and bypass"};
}

/// Texts of other programs go into errors cut and cleaned.
std::string shown(std::string_view text) { return Error::invalid("", text, "").value(); }

Error mismatch(std::string reason) { return Error(ErrorCode::kVersionMismatch, std::move(reason)); }

Op<Result<schema::VersionRecord>> read_record() {
  store::Key key = schema::version_key();
  store::GetRequest get(key, store::Consistency::kStrong);
  auto found = co_await ask(get);
  if (found.outcome != store::Outcome::kOk) co_return error_of(found);
  if (!found.image) {
    co_return mismatch(
        "the table has no version record, so it cannot be told which programs use it; create the "
        "record with `stint table create`");
  }
  co_return schema::decode_version(*found.image);
}

/// Whether the stream consumer handles the feature.
Status check_consumer(const schema::VersionRecord& record, const FeatureFacts& facts) {
  std::string needs = std::string(facts.name) + " need a stream consumer of version " +
                      std::string(facts.minimum) + " or later";
  if (std::optional<VersionTrouble> unknown = find_unknown_consumer(record)) {
    return mismatch(needs + ", and " + unknown->finding + "; " + unknown->remedy);
  }
  if (*record.lambda_version == kActsAs) return Status();
  std::optional<Release> consumer = Release::parse(*record.lambda_version);
  if (consumer && consumer->final_release() >= facts.release) return Status();
  return mismatch(needs + "; that of the table is \"" + shown(*record.lambda_version) + "\"");
}

bool demands(const schema::VersionRecord& record, const FeatureFacts& facts) {
  if (!record.client_min_version) return false;
  std::optional<Release> minimum = Release::parse(*record.client_min_version);
  return minimum && *minimum >= facts.release;
}

}  // namespace

std::optional<VersionTrouble> find_unknown_consumer(const schema::VersionRecord& record) {
  if (record.lambda_version) return std::nullopt;
  return VersionTrouble{"the table does not say which version its stream consumer has",
                        "deploy the worker of zae-limiter " + std::string(kActsAs) +
                            ", or, where none runs, have that version recorded with the package's "
                            "set_version_record(lambda_version=...)"};
}

std::optional<VersionTrouble> find_version_trouble(const schema::VersionRecord& record) {
  std::optional<Release> generation = Release::parse(record.schema_version);
  if (!generation) {
    return VersionTrouble{
        "the table's schema version \"" + shown(record.schema_version) + "\" cannot be understood",
        "restore the record, or name the right table"};
  }
  if (generation->major_number() != kSchemaGeneration) {
    return VersionTrouble{"the table has schema version " + shown(record.schema_version) +
                              ", and this program knows generation " +
                              std::to_string(kSchemaGeneration),
                          "use a stint of the table's generation, or another table"};
  }
  if (record.client_min_version) {
    // What cannot be understood sets no minimum.
    std::optional<Release> minimum = Release::parse(*record.client_min_version);
    if (minimum && *minimum > kActsAsRelease) {
      return VersionTrouble{"the table demands clients of version " +
                                shown(*record.client_min_version) +
                                " or later, and this program acts as " + std::string(kActsAs),
                            "use a newer stint"};
    }
  }
  if (!record.lambda_version) return std::nullopt;
  std::optional<Release> consumer = Release::parse(*record.lambda_version);
  if (consumer && consumer->final_release() < kActsAsRelease) {
    return VersionTrouble{"the table's stream consumer is of version \"" +
                              shown(*record.lambda_version) + "\", and this program needs " +
                              std::string(kActsAs) + " or later",
                          "update the consumer first"};
  }
  return std::nullopt;
}

Status check_version(const schema::VersionRecord& record) {
  std::optional<VersionTrouble> trouble = find_version_trouble(record);
  if (!trouble) return Status();
  return mismatch(trouble->finding + "; " + trouble->remedy);
}

std::optional<Feature> feature_of(const std::vector<Limit>& limits,
                                  const SetLimitsOptions& options) {
  auto any = [&](auto holds) { return std::any_of(limits.begin(), limits.end(), holds); };
  bool soft = any([](const Limit& limit) { return limit.soft(); });
  if (soft || options.access == AccessPolicy::kBypass) return Feature::kSoftness;
  if (options.cascade) return Feature::kCascadePolicy;
  if (any([](const Limit& limit) { return limit.kind() == LimitKind::kSession; })) {
    return Feature::kSessionLimits;
  }
  return std::nullopt;
}

Op<Status> use_feature(Context& cx, Feature feature, bool dry_run) {
  if (!cx.shared_table) co_return Status();
  FeatureFacts facts = facts_of(feature);
  for (int attempt = 0; attempt < kRaiseAttempts; ++attempt) {
    Result<schema::VersionRecord> record = co_await read_record();
    if (!record) co_return record.error();
    if (Status allowed = check_consumer(*record, facts); !allowed) co_return allowed;
    if (dry_run || demands(*record, facts)) co_return Status();
    store::Key key = schema::version_key();
    store::UpdateProgram raise = schema::raise_client_minimum(*record, facts.minimum);
    store::UpdateRequest update(key, raise, store::Params());
    auto raised = co_await ask(update);
    if (raised.outcome == store::Outcome::kOk) co_return Status();
    // A write that may have landed is looked at like one that others were faster with.
    bool again = raised.outcome == store::Outcome::kConditionFailed ||
                 raised.outcome == store::Outcome::kConflict ||
                 raised.outcome == store::Outcome::kUnknown;
    if (!again) co_return error_of(raised);
  }
  co_return Error(ErrorCode::kConflict,
                  "the table's version record keeps changing; try again in 100 ms");
}

Op<Status> prove_feature(Context& cx, Feature feature) {
  if (!cx.shared_table || cx.caches.is_proven(feature)) co_return Status();
  Result<schema::VersionRecord> record = co_await read_record();
  if (!record) co_return record.error();
  Status allowed = check_consumer(*record, facts_of(feature));
  if (allowed) cx.caches.set_proven(feature);
  co_return allowed;
}

}  // namespace stint::ops
