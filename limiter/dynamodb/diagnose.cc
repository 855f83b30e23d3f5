// What keeps a limiter from using its table: diagnose_dynamodb.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <future>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "limiter/dynamodb/connection.h"
#include "limiter/system_clock.h"
#include "limiter/system_seed.h"
#include "ops/version.h"
#include "schema/attributes.h"
#include "schema/keys.h"
#include "schema/probe.h"
#include "schema/records.h"
#include "stint/dynamodb.h"
#include "store/dynamodb/http_date.h"
#include "store/dynamodb/table.h"
#include "store/dynamodb/table_definition.h"
#include "store/dynamodb/wire.h"

namespace stint {
namespace {

namespace dynamodb = store::dynamodb;
using dynamodb::ServiceTrouble;
using Verdict = Diagnosis::Verdict;

constexpr std::chrono::seconds kPatience{5};
// Replies are stamped to the second, and travel.
constexpr Millis kUnseenOffset{2'000};
// From here on a limiter reports the clocks of others as ahead.
constexpr Millis kMostOffset{60'000};
constexpr std::chrono::seconds kProbeLife{3'600};

constexpr std::array kQuestions = {"region",  "endpoint",   "clock",      "credentials",
                                   "table",   "indexes",    "expiry",     "stream",
                                   "version", "namespaces", "permissions"};

// The options that say how the endpoint is spoken to.
constexpr std::array<std::string_view, 3> kWayOptions = {"attempt_timeout", "connect_timeout",
                                                         "max_connections"};

constexpr const char* kGiveKeys =
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile, or give the machine a role";
constexpr const char* kCompleteIt = "`stint table create` completes the table";

std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ") {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

// What others say may have any form.
std::string on_one_line(std::string text) {
  constexpr std::size_t kMostBytes = 600;
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  if (text.size() > kMostBytes) text = text.substr(0, kMostBytes) + " ...";
  return text;
}

class Examination {
 public:
  explicit Examination(const DynamoDbOptions& options) : options_(options) {
    for (const char* question : kQuestions) {
      answers_.push_back({question, Verdict::kSkipped, "not looked at, because of the above", {}});
    }
  }

  std::vector<Diagnosis> run() {
    if (find_place() && reach() && get_credentials() && describe()) {
      look_at_expiry();
      look_at_version();
      look_at_namespaces();
      try_permissions();
    }
    return std::move(answers_);
  }

 private:
  void answer(std::string_view question, Verdict verdict, std::string finding,
              std::string remedy = {}) {
    auto found = std::find_if(answers_.begin(), answers_.end(),
                              [&](const Diagnosis& known) { return known.question == question; });
    found->verdict = verdict;
    found->finding = on_one_line(std::move(finding));
    found->remedy = std::move(remedy);
  }
  bool is_bad(std::string_view question) const {
    return std::any_of(answers_.begin(), answers_.end(), [&](const Diagnosis& known) {
      return known.question == question && known.verdict == Verdict::kBad;
    });
  }

  bool find_place();
  bool reach();
  void compare_clocks(std::string_view date, TimePoint sent, TimePoint received);
  bool get_credentials();
  bool describe();
  void look_at_indexes(const dynamodb::TableState& table,
                       const std::vector<dynamodb::TableProblem>& problems);
  void look_at_stream(const std::vector<dynamodb::TableProblem>& problems);
  void look_at_expiry();
  void look_at_version();
  /// What stint's own record says, or false after answering that it cannot be used.
  bool look_at_own_record(const store::Image& item, std::string& origin);
  void look_at_namespaces();
  void try_permissions();
  void report_permissions(bool probe_left, const std::string& probe);

  dynamodb::CallResult call(std::string_view operation, std::string body, dynamodb::Effect effect) {
    return connection_.client->call(operation, std::move(body), effect,
                                    dynamodb::Steady::now() + kPatience);
  }
  dynamodb::CallResult call(const store::RequestRef& request) {
    dynamodb::WireRequest wire = dynamodb::write_request(request, connection_.table);
    return call(wire.operation, std::move(wire.body), dynamodb::effect_of(wire));
  }
  std::string text_of(const dynamodb::CallTrouble& trouble) const {
    return dynamodb::text_of(trouble, connection_.table);
  }
  /// Answers the question that a trouble belongs to if it would meet every call.
  bool blame(const dynamodb::CallTrouble& trouble);
  /// The item, null where there is none, or why it is not known.
  Result<store::ImagePtr> get(const store::Key& key);
  /// Notes whether a call may be done. True if so.
  bool try_out(const std::string& name, const std::string& action,
               const dynamodb::CallResult& result);

  const DynamoDbOptions& options_;
  std::vector<Diagnosis> answers_;
  limiter::SystemClock clock_;
  limiter::DynamoDbConnection connection_;
  std::string credentials_source_;
  std::string arn_ = "the table's ARN";
  std::optional<store::IndexLayout> layout_;
  // What may be done, what may not, and what ended otherwise.
  std::vector<std::string> allowed_;
  std::vector<std::string> refused_;
  std::vector<std::string> unclear_;
  std::set<std::string> missing_actions_;
};

bool Examination::find_place() {
  Result<limiter::DynamoDbConnection> connection = limiter::connect_dynamodb(options_);
  if (connection) {
    connection_ = *std::move(connection);
    answer("region", Verdict::kGood, connection_.region);
    return true;
  }
  const Error& error = connection.error();
  const bool is_option =
      std::find(kWayOptions.begin(), kWayOptions.end(), error.field()) != kWayOptions.end();
  if (error.code() == ErrorCode::kUnavailable) {
    answer("endpoint", Verdict::kBad, error.message(),
           "look what this machine is short of, and try again");
  } else if (is_option) {
    answer("endpoint", Verdict::kBad, error.message(), "give the option another value");
  } else if (error.field() == "table") {
    answer("table", Verdict::kBad, error.message(), "name the table as the service does");
  } else if (error.field() == "endpoint") {
    answer("endpoint", Verdict::kBad, error.message(),
           "name it as http://HOST:PORT, or not at all for the service");
  } else if (error.field() == "region") {
    answer("region", Verdict::kBad, error.value().empty() ? "no region is named" : error.message(),
           "add region=REGION to the store's address, or set AWS_REGION");
  } else {
    answer("region", Verdict::kBad, error.message(), "mend the profile or its files");
  }
  return false;
}

bool Examination::reach() {
  // Needs no key: whatever answers stamps its reply with the time.
  dynamodb::HttpRequest request;
  request.method = "GET";
  request.url = connection_.endpoint + "/";
  request.deadline = dynamodb::Steady::now() + kPatience;
  TimePoint sent = clock_.now();
  dynamodb::HttpReply reply = connection_.http->exchange(std::move(request));
  TimePoint received = clock_.now();
  if (reply.end != dynamodb::HttpEnd::kReply) {
    answer("endpoint", Verdict::kBad, connection_.origin + " does not answer: " + reply.message,
           connection_.own_endpoint
               ? "look at the endpoint's name, the network and the proxy settings"
               : "look whether there is a region " + connection_.region +
                     ", at the network and the proxy settings");
    return false;
  }
  answer("endpoint", Verdict::kGood, connection_.origin);
  compare_clocks(reply.header("date"), sent, received);
  return true;
}

void Examination::compare_clocks(std::string_view date, TimePoint sent, TimePoint received) {
  std::optional<TimePoint> service = dynamodb::read_http_date(date);
  if (!service) {
    answer("clock", Verdict::kSkipped, "the endpoint does not say what time it is");
    return;
  }
  // The middle of the second that the stamp stands for, beside the middle of the exchange.
  Millis ahead = sent + (received - sent) / 2 - (*service + Millis(500));
  Millis offset(std::abs(ahead.count()));
  if (offset <= kUnseenOffset + (received - sent) / 2) {
    answer("clock", Verdict::kGood, "as the service's, to two seconds");
    return;
  }
  answer("clock", offset <= kMostOffset ? Verdict::kWarning : Verdict::kBad,
         "this machine's clock is " + std::to_string((offset.count() + 500) / 1000) + " s " +
             (ahead > Millis(0) ? "ahead of" : "behind") + " the service's",
         "synchronise it: signatures are corrected, but limits refill and windows end by it");
}

bool Examination::get_credentials() {
  auto got = std::make_shared<std::promise<Result<dynamodb::CredentialsPtr>>>();
  std::future<Result<dynamodb::CredentialsPtr>> wait = got->get_future();
  connection_.credentials->get(
      [got](Result<dynamodb::CredentialsPtr> result) { got->set_value(std::move(result)); });
  Result<dynamodb::CredentialsPtr> credentials = wait.get();
  if (!credentials) {
    answer("credentials", Verdict::kBad, credentials.error().reason(), kGiveKeys);
    return false;
  }
  credentials_source_ = (*credentials)->source;
  answer("credentials", Verdict::kGood, "from " + credentials_source_);
  return true;
}

bool Examination::blame(const dynamodb::CallTrouble& trouble) {
  if (trouble.no_credentials) {
    answer("credentials", Verdict::kBad, text_of(trouble), kGiveKeys);
    return true;
  }
  if (!trouble.service) {
    answer("endpoint", Verdict::kBad, text_of(trouble), "look at the network and try again");
    return true;
  }
  switch (trouble.service->trouble) {
    case ServiceTrouble::kUnknownCredentials:
      answer("credentials", Verdict::kBad, text_of(trouble) + " (from " + credentials_source_ + ")",
             "look at key id and secret, and whether the key is active");
      return true;
    case ServiceTrouble::kExpiredCredentials:
      answer("credentials", Verdict::kBad, text_of(trouble) + " (from " + credentials_source_ + ")",
             "fetch new ones");
      return true;
    case ServiceTrouble::kClockSkewed:
      answer("clock", Verdict::kBad, text_of(trouble), "synchronise it");
      return true;
    case ServiceTrouble::kNotTheService:
      answer("endpoint", Verdict::kBad, connection_.origin + ": " + text_of(trouble),
             "look at the endpoint's name and the proxy settings");
      return true;
    default: return false;
  }
}

bool Examination::describe() {
  dynamodb::CallResult result =
      call("DescribeTable", dynamodb::table_name_body(connection_.table), dynamodb::Effect::kRead);
  if (const auto* trouble = std::get_if<dynamodb::CallTrouble>(&result)) {
    if (blame(*trouble)) return false;
    if (trouble->service->trouble == ServiceTrouble::kAccessDenied) {
      // All the rest can be looked at without it.
      try_out("DescribeTable", "dynamodb:DescribeTable", result);
      for (const char* question : {"table", "indexes", "stream"}) {
        answer(question, Verdict::kSkipped, "DescribeTable is not permitted");
      }
      return true;
    }
    if (trouble->service->trouble == ServiceTrouble::kNoSuchTable) {
      answer("table", Verdict::kBad, limiter::no_table(connection_).reason(),
             "look at its name, region and account, or make it: `stint table create`");
    } else {
      answer("table", Verdict::kBad, text_of(*trouble), "try again");
    }
    return false;
  }
  Result<dynamodb::TableState> table = dynamodb::read_table(*std::get_if<std::string>(&result));
  if (!table) {
    answer("endpoint", Verdict::kBad, connection_.origin + ": " + table.error().reason(),
           "look at the endpoint's name and the proxy settings");
    return false;
  }
  if (!table->arn.empty()) arn_ = table->arn;
  layout_ = dynamodb::layout_of(*table);
  allowed_.push_back("DescribeTable");

  dynamodb::ExpiryState unknown;
  std::vector<dynamodb::TableProblem> problems =
      dynamodb::find_problems(*table, unknown, store::name_of(schema::kExpiryAttr));
  auto keys = std::find_if(problems.begin(), problems.end(), [](const auto& problem) {
    return problem.flaw == dynamodb::TableFlaw::kKeys;
  });
  if (keys != problems.end()) {
    answer("table", Verdict::kBad, keys->text,
           "it is a table of another program: name the right one");
    return false;
  }
  bool serves = table->status == "ACTIVE" || table->status == "UPDATING";
  if (!serves) {
    answer("table", Verdict::kBad, connection_.place() + " is " + table->status,
           "wait until it is ACTIVE");
    return false;
  }
  if (table->billing == "PAY_PER_REQUEST") {
    answer("table", Verdict::kGood, connection_.place() + ", " + table->status);
  } else {
    answer("table", Verdict::kWarning,
           connection_.place() + " has provisioned capacity and refuses what exceeds it",
           "bill it by request, or provision for the peak");
  }
  look_at_indexes(*table, problems);
  look_at_stream(problems);
  return true;
}

void Examination::look_at_indexes(const dynamodb::TableState& table,
                                  const std::vector<dynamodb::TableProblem>& problems) {
  std::vector<std::string> findings;
  bool all_missing = true;
  for (const dynamodb::TableProblem& problem : problems) {
    if (problem.index == 0) continue;
    findings.push_back(problem.text);
    all_missing = all_missing && problem.flaw == dynamodb::TableFlaw::kIndexMissing;
  }
  if (!findings.empty()) {
    answer("indexes", Verdict::kBad, joined(findings, "; "),
           all_missing ? "`stint table create` adds what is missing"
                       : "make a new table, and move the items: `stint store export` and `import`");
    return;
  }
  std::string pending = dynamodb::not_active_yet(table);
  if (table.status == "ACTIVE" && !pending.empty()) {
    answer("indexes", Verdict::kBad, pending, "wait until it is ACTIVE");
    return;
  }
  bool lean = layout_ == store::IndexLayout::kKeysOnly;
  answer("indexes", Verdict::kGood,
         lean ? "layout lean: a debit costs one write unit"
              : "layout compatible: a debit costs a write unit on the table and one on GSI2, whose "
                "partition all debits of a resource share: about 1,000 a second until the service "
                "splits it");
}

void Examination::look_at_stream(const std::vector<dynamodb::TableProblem>& problems) {
  for (const dynamodb::TableProblem& problem : problems) {
    if (problem.flaw == dynamodb::TableFlaw::kStreamOff) {
      answer("stream", Verdict::kWarning,
             problem.text + ": limits work, but what reads changes (usage records) does not",
             kCompleteIt);
      return;
    }
    if (problem.flaw == dynamodb::TableFlaw::kStreamDiffers) {
      answer("stream", Verdict::kWarning, problem.text,
             "switch it off and on again with new and old images");
      return;
    }
  }
  answer("stream", Verdict::kGood, "new and old images");
}

void Examination::look_at_expiry() {
  dynamodb::CallResult result = call(
      "DescribeTimeToLive", dynamodb::table_name_body(connection_.table), dynamodb::Effect::kRead);
  bool permitted = try_out("DescribeTimeToLive", "dynamodb:DescribeTimeToLive", result);
  const auto* body = std::get_if<std::string>(&result);
  if (body == nullptr) {
    answer("expiry", Verdict::kSkipped,
           permitted ? text_of(*std::get_if<dynamodb::CallTrouble>(&result))
                     : "DescribeTimeToLive is not permitted");
    return;
  }
  Result<dynamodb::ExpiryState> expiry = dynamodb::read_expiry(*body);
  std::string wanted(store::name_of(schema::kExpiryAttr));
  if (!expiry) {
    answer("expiry", Verdict::kBad, expiry.error().reason(), "look at the endpoint's name");
  } else if (!expiry->enabled()) {
    answer("expiry", Verdict::kWarning,
           "time to live is off: buckets that nobody uses any more stay, and their storage costs",
           kCompleteIt);
  } else if (expiry->attribute != wanted) {
    answer("expiry", Verdict::kBad,
           "items expire by the attribute " + expiry->attribute + " in place of " + wanted,
           "switch time to live off, and on again with " + wanted);
  } else {
    answer("expiry", Verdict::kGood, "by " + wanted);
  }
}

Result<store::ImagePtr> Examination::get(const store::Key& key) {
  store::GetRequest request(key, store::Consistency::kStrong);
  store::RequestRef ref(&request);
  dynamodb::CallResult result = call(ref);
  if (const auto* trouble = std::get_if<dynamodb::CallTrouble>(&result)) {
    return Error(ErrorCode::kUnavailable, text_of(*trouble));
  }
  store::Reply reply = store::GetReply();
  Status read = dynamodb::read_reply(ref, *std::get_if<std::string>(&result), reply);
  if (!read) return read.error();
  return std::get_if<store::GetReply>(&reply)->image;
}

void Examination::look_at_version() {
  Result<store::ImagePtr> version_item = get(schema::version_key());
  Result<store::ImagePtr> store_item = get(schema::store_record_key());
  for (const Result<store::ImagePtr>* item : {&version_item, &store_item}) {
    if (*item) continue;
    answer("version", Verdict::kBad, "the version record cannot be read: " + item->error().reason(),
           "mend what permissions says below, or try again");
    return;
  }
  if (!*version_item) {
    answer("version", Verdict::kBad,
           "there is no version record: the table's creation was not finished", kCompleteIt);
    return;
  }
  Result<schema::VersionRecord> version = schema::decode_version(**version_item);
  if (!version) {
    answer("version", Verdict::kBad, version.error().reason(),
           "restore the record, or name the right table");
    return;
  }
  if (std::optional<ops::VersionTrouble> trouble = ops::find_version_trouble(*version)) {
    answer("version", Verdict::kBad, trouble->finding, trouble->remedy);
    return;
  }
  std::string finding = "schema " + version->schema_version + ", clients from " +
                        version->client_min_version.value_or("any version") + " on";
  std::string origin;
  if (!*store_item) {
    origin = "no record of stint: a table of zae-limiter";
  } else if (!look_at_own_record(**store_item, origin)) {
    return;
  }
  // On a table for stint alone nobody else has to understand what is stored.
  bool is_shared = layout_ != store::IndexLayout::kKeysOnly;
  std::optional<ops::VersionTrouble> unknown = ops::find_unknown_consumer(*version);
  if (is_shared && unknown) {
    answer("version", Verdict::kWarning,
           unknown->finding + ": session and soft limits, bypass and cascade policies are refused",
           unknown->remedy);
    return;
  }
  answer("version", Verdict::kGood, finding + "; " + origin);
}

bool Examination::look_at_own_record(const store::Image& item, std::string& origin) {
  Result<schema::StoreRecord> record = schema::decode_store_record(item);
  if (!record) {
    answer(
        "version", Verdict::kBad, record.error().reason(),
        record.error().code() == ErrorCode::kCorrupt ? "restore the record" : "use a newer stint");
    return false;
  }
  if (layout_ && record->layout != *layout_) {
    answer("version", Verdict::kBad,
           "stint's record says the layout " + std::string(schema::to_string(record->layout)) +
               ", the indexes say " + std::string(schema::to_string(*layout_)),
           "make a new table, and move the items: `stint store export` and `import`");
    return false;
  }
  origin = "reset rule " + std::string(schema::to_string(record->reset_rule));
  return true;
}

void Examination::look_at_namespaces() {
  const std::string partition = schema::version_key().pk();
  store::QueryRequest query(store::Index::kTable, partition,
                            std::string(schema::kNamespaceNamePrefix), 1);
  store::RequestRef ref(&query);
  dynamodb::CallResult result = call(ref);
  if (const auto* trouble = std::get_if<dynamodb::CallTrouble>(&result)) {
    answer("namespaces", Verdict::kSkipped, "cannot be read: " + text_of(*trouble));
    return;
  }
  store::Reply reply = store::QueryReply();
  Status read = dynamodb::read_reply(ref, *std::get_if<std::string>(&result), reply);
  if (!read) {
    answer("namespaces", Verdict::kBad, read.error().reason(), "look at the endpoint's name");
    return;
  }
  if (std::get_if<store::QueryReply>(&reply)->images.empty()) {
    answer("namespaces", Verdict::kWarning,
           "none is registered: commands that only read find nothing, and other programs expect "
           "theirs to be there",
           "`stint table create` or `stint namespace register` registers one");
    return;
  }
  answer("namespaces", Verdict::kGood, "registered");
}

bool Examination::try_out(const std::string& name, const std::string& action,
                          const dynamodb::CallResult& result) {
  const auto* trouble = std::get_if<dynamodb::CallTrouble>(&result);
  if (trouble == nullptr) {
    allowed_.push_back(name);
    return true;
  }
  if (!trouble->service) {
    unclear_.push_back(name + ": " + text_of(*trouble));
    return true;
  }
  switch (trouble->service->trouble) {
    case ServiceTrouble::kAccessDenied:
      refused_.push_back(name);
      missing_actions_.insert(action);
      return false;
    // Permission is asked for first: what fails for these was permitted.
    case ServiceTrouble::kConditionFailed:
    case ServiceTrouble::kTransactionCancelled:
    case ServiceTrouble::kTransactionConflict: allowed_.push_back(name); return true;
    default: unclear_.push_back(name + ": " + text_of(*trouble)); return true;
  }
}

void Examination::try_permissions() {
  const std::array keys = {schema::version_key(), schema::store_record_key()};
  store::GetRequest get_one(keys[0], store::Consistency::kStrong);
  try_out("GetItem", "dynamodb:GetItem", call(&get_one));
  store::BatchGetRequest get_both(keys, store::Consistency::kEventual);
  try_out("BatchGetItem", "dynamodb:BatchGetItem", call(&get_both));
  store::QueryRequest query_table(store::Index::kTable, keys[0].pk(), keys[0].sk(), 1);
  try_out("Query", "dynamodb:Query", call(&query_table));
  for (int number = 1; number <= store::kIndexCount; ++number) {
    store::QueryRequest query(static_cast<store::Index>(number), keys[0].pk(), "", 1);
    try_out("Query on " + dynamodb::index_name(number), "dynamodb:Query", call(&query));
  }
  store::ScanRequest scan(1);
  try_out("Scan", "dynamodb:Scan", call(&scan));

  TimePoint now = clock_.now();
  std::string id = Random(limiter::system_seed()).hex(8);
  const store::Key key = schema::probe_key(id);
  const std::array<std::int64_t, 1> expiry = {
      std::chrono::floor<std::chrono::seconds>(now + kProbeLife).time_since_epoch().count()};
  store::Condition absent;
  absent.require(store::Term{store::Test::kItemAbsent});
  store::PutRequest put(schema::encode_probe(id, expiry[0]), &absent);
  dynamodb::CallResult put_result = call(&put);
  bool made = try_out("PutItem", "dynamodb:PutItem", put_result);

  store::UpdateProgram touch = schema::touch_probe();
  store::Params params;
  params.numbers = expiry;
  store::UpdateRequest update(key, touch, params);
  bool updated = try_out("UpdateItem", "dynamodb:UpdateItem", call(&update));

  store::Condition exists;
  exists.require(store::Term{store::Test::kItemExists});
  std::vector<store::TransactItem> members;
  members.emplace_back(update);
  members.emplace_back(store::CheckRequest(keys[0], exists));
  store::TransactRequest transact(members, std::string());
  // The service asks for the permissions of the members, of which only the check is not known yet.
  dynamodb::CallResult transacted = call(&transact);
  if (updated) try_out("ConditionCheckItem", "dynamodb:ConditionCheckItem", transacted);

  store::DeleteRequest remove(key, nullptr);
  dynamodb::CallResult removed = call(&remove);
  try_out("DeleteItem", "dynamodb:DeleteItem", removed);
  bool gone = std::holds_alternative<std::string>(removed);
  report_permissions(made && !gone, key.pk() + " " + key.sk());
}

void Examination::report_permissions(bool probe_left, const std::string& probe) {
  std::string left;
  if (probe_left) left = "; the item " + probe + " of this try may be left and expires in an hour";
  // Only copies and checks of a whole store read all items.
  bool scan_alone = refused_ == std::vector<std::string>{"Scan"};
  if (!refused_.empty()) {
    std::vector<std::string> actions(missing_actions_.begin(), missing_actions_.end());
    std::string remedy = "allow " + joined(actions) + " on " + arn_ + " and " + arn_ + "/index/*";
    if (scan_alone) {
      answer("permissions", Verdict::kWarning,
             "not permitted: Scan, which only `stint store info`, `check` and `export` need" + left,
             remedy);
    } else {
      answer("permissions", Verdict::kBad, "not permitted: " + joined(refused_) + left, remedy);
    }
    return;
  }
  if (!unclear_.empty()) {
    answer("permissions", Verdict::kWarning, "could not be tried: " + joined(unclear_, "; ") + left,
           is_bad("indexes") ? "mend the indexes first" : "try again");
    return;
  }
  answer("permissions", Verdict::kGood, joined(allowed_));
}

}  // namespace

std::vector<Diagnosis> diagnose_dynamodb(const DynamoDbOptions& options) {
  return Examination(options).run();
}

}  // namespace stint
