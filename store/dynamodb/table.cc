#include "store/dynamodb/table.h"

#include <algorithm>
#include <functional>
#include <future>
#include <optional>
#include <utility>

#include "store/dynamodb/reply_of_error.h"

namespace stint::store::dynamodb {
namespace {

constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::milliseconds kLongestPause{5'000};

bool is_trouble(const CallResult& result, ServiceTrouble wanted) {
  const auto* trouble = std::get_if<CallTrouble>(&result);
  return trouble != nullptr && trouble->service && trouble->service->trouble == wanted;
}

// Whether the wanted state may come about although the call failed: only the state itself can tell.
bool may_come_about(const CallResult& result) {
  const auto* trouble = std::get_if<CallTrouble>(&result);
  return trouble == nullptr || trouble->maybe_applied ||
         is_trouble(result, ServiceTrouble::kTableBusy);
}

// Pauses that grow, and the report of what they are for.
class Patience {
 public:
  explicit Patience(const TableTask& task) : task_(task) {}

  /// Waits a while. Errors: `kUnavailable` when the deadline does not allow it.
  Status wait(const std::string& state) {
    if (state != reported_) {
      reported_ = state;
      if (task_.progress) task_.progress(state);
    }
    Steady::time_point next = task_.pace.now() + pause_;
    if (next > task_.deadline) {
      return Error(ErrorCode::kUnavailable, "the table is not ready in time: " + state +
                                                "; the same command again goes on waiting");
    }
    task_.pace.wait_until(next);
    pause_ = std::min(pause_ * 3 / 2, kLongestPause);
    return {};
  }

 private:
  const TableTask& task_;
  std::string reported_;
  std::chrono::milliseconds pause_ = kFirstPause;
};

void tell(const TableTask& task, const std::string& state) {
  if (task.progress) task.progress(state);
}

CallResult call(const TableTask& task, std::string_view operation, std::string body,
                Effect effect) {
  return task.client.call(operation, std::move(body), effect, task.deadline);
}

Error already_leaving() {
  return Error(ErrorCode::kConflict, "the table is being deleted; create it when it is gone");
}

Error other_definition(const std::vector<TableProblem>& problems) {
  std::string text = "a table of that name exists and is of another definition";
  std::string_view join = ": ";
  for (const TableProblem& problem : problems) {
    if (mendable(problem.flaw)) continue;
    text += join;
    text += problem.text;
    join = "; ";
  }
  return Error(ErrorCode::kConflict, std::move(text));
}

// The table when it and its indexes are active. `make` asks for the table where there is none, and
// says whether the service has taken that; empty: a table that is not there is an error.
Result<TableState> wait_until_active(const TableTask& task,
                                     const std::function<Result<bool>()>& make = {}) {
  bool made = false;
  for (Patience patience(task);;) {
    Result<TableState> table = describe(task);
    std::string missing;
    if (table) {
      if (table->status == "DELETING") return already_leaving();
      missing = not_active_yet(*table);
      if (missing.empty()) return table;
    } else {
      if (!make || table.error().code() != ErrorCode::kNotFound) return table.error();
      // That there is none is a matter of time from then on: descriptions lag behind.
      if (!made) {
        Result<bool> taken = make();
        if (!taken) return taken.error();
        made = *taken;
        // With luck it is there at once.
        if (made) continue;
      }
      missing = "table not yet there";
    }
    if (Status waited = patience.wait(missing); !waited) return waited.error();
  }
}

Status enable_expiry(const TableTask& task, std::string_view attribute) {
  tell(task, "switching expiry on");
  for (Patience patience(task);;) {
    CallResult result =
        call(task, "UpdateTimeToLive", enable_expiry_body(task.table, attribute), Effect::kWrite);
    if (std::holds_alternative<std::string>(result)) return {};
    const CallTrouble& trouble = *std::get_if<CallTrouble>(&result);
    // The service refuses as invalid what was done already, and any change for a while after one.
    bool refused = is_trouble(result, ServiceTrouble::kValidation);
    if (!refused && !may_come_about(result))
      return error_of(trouble, task.table, "switching expiry on");
    Result<ExpiryState> expiry = describe_expiry(task);
    if (!expiry) return expiry.error();
    if (expiry->enabled() && expiry->attribute == attribute) return {};
    if (refused && expiry->status != "DISABLING")
      return error_of(trouble, task.table, "switching expiry on");
    if (Status waited = patience.wait("expiry " + expiry->status); !waited) return waited.error();
  }
}

bool is_mended(const TableState& table, const TableProblem& problem) {
  return problem.flaw == TableFlaw::kStreamOff ? !table.stream_view.empty()
                                               : table.index(index_name(problem.index)) != nullptr;
}

// Switches the stream on, or adds an index, and waits until it is active.
Status mend(const TableTask& task, IndexLayout layout, const TableProblem& problem) {
  bool stream = problem.flaw == TableFlaw::kStreamOff;
  std::string doing = stream ? "switching the stream on" : "adding " + index_name(problem.index);
  tell(task, doing);
  bool accepted = false;
  for (Patience patience(task);;) {
    if (!accepted) {
      CallResult result = call(task, "UpdateTable",
                               stream ? enable_stream_body(task.table)
                                      : create_index_body(task.table, layout, problem.index),
                               Effect::kWrite);
      if (!may_come_about(result))
        return error_of(*std::get_if<CallTrouble>(&result), task.table, doing);
      accepted = std::holds_alternative<std::string>(result);
    }
    Result<TableState> table = wait_until_active(task);
    if (!table) return table.error();
    if (is_mended(*table, problem)) return {};
    // The description is still that of before, or another change was in the way.
    if (Status waited = patience.wait(doing); !waited) return waited;
  }
}

}  // namespace

Pace timer_pace(std::shared_ptr<HttpClient> http) {
  Pace pace;
  pace.now = [] { return Steady::now(); };
  pace.wait_until = [http = std::move(http)](Steady::time_point at) {
    auto reached = std::make_shared<std::promise<void>>();
    std::future<void> wait = reached->get_future();
    http->call_at(at, [reached] { reached->set_value(); });
    wait.wait();
  };
  return pace;
}

std::string text_of(const CallTrouble& trouble, std::string_view table) {
  if (!trouble.service) return trouble.message;
  return in_words(*trouble.service, "table " + std::string(table));
}

Error error_of(const CallTrouble& trouble, std::string_view table, std::string_view doing) {
  std::string text = std::string(doing) + ": " + text_of(trouble, table);
  if (trouble.maybe_applied) return Error(ErrorCode::kOutcomeUnknown, std::move(text));
  if (trouble.no_credentials) return Error(ErrorCode::kAccessDenied, std::move(text));
  if (!trouble.service) return Error(ErrorCode::kUnavailable, std::move(text));
  switch (trouble.service->trouble) {
    case ServiceTrouble::kNoSuchTable: return Error(ErrorCode::kNotFound, std::move(text));
    case ServiceTrouble::kTableBusy: return Error(ErrorCode::kConflict, std::move(text));
    case ServiceTrouble::kAccessDenied:
    case ServiceTrouble::kExpiredCredentials:
    case ServiceTrouble::kUnknownCredentials:
    case ServiceTrouble::kClockSkewed: return Error(ErrorCode::kAccessDenied, std::move(text));
    case ServiceTrouble::kThrottledByTable:
    case ServiceTrouble::kThrottledByPartition:
    case ServiceTrouble::kThrottledByAccount: return Error(ErrorCode::kThrottled, std::move(text));
    default: return Error(ErrorCode::kUnavailable, std::move(text));
  }
}

Result<TableState> describe(const TableTask& task) {
  CallResult result = call(task, "DescribeTable", table_name_body(task.table), Effect::kRead);
  if (const auto* trouble = std::get_if<CallTrouble>(&result)) {
    return error_of(*trouble, task.table, "describing the table");
  }
  return read_table(*std::get_if<std::string>(&result));
}

Result<ExpiryState> describe_expiry(const TableTask& task) {
  CallResult result = call(task, "DescribeTimeToLive", table_name_body(task.table), Effect::kRead);
  if (const auto* trouble = std::get_if<CallTrouble>(&result)) {
    return error_of(*trouble, task.table, "describing the table's expiry");
  }
  return read_expiry(*std::get_if<std::string>(&result));
}

Result<bool> complete_table(const TableTask& task, IndexLayout layout,
                            std::string_view expiry_attribute) {
  bool changed = false;
  Result<TableState> table = wait_until_active(task, [&]() -> Result<bool> {
    if (!changed) tell(task, "creating the table");
    changed = true;
    CallResult result =
        call(task, "CreateTable", create_table_body(task.table, layout), Effect::kWrite);
    if (!may_come_about(result)) {
      return error_of(*std::get_if<CallTrouble>(&result), task.table, "creating the table");
    }
    // Of two of a name the service takes one: what may have been lost is sent again.
    return std::holds_alternative<std::string>(result) ||
           is_trouble(result, ServiceTrouble::kTableBusy);
  });
  if (!table) return table.error();

  Result<ExpiryState> expiry = describe_expiry(task);
  if (!expiry) return expiry.error();
  std::vector<TableProblem> problems = find_problems(*table, *expiry, expiry_attribute, layout);
  // Before anything is changed, all must be such that it ends in a whole table.
  if (std::any_of(problems.begin(), problems.end(),
                  [](const TableProblem& problem) { return !mendable(problem.flaw); })) {
    return other_definition(problems);
  }
  for (const TableProblem& problem : problems) {
    changed = true;
    if (problem.flaw == TableFlaw::kExpiryOff) {
      if (Status enabled = enable_expiry(task, expiry_attribute); !enabled) return enabled.error();
      continue;
    }
    if (Status mended = mend(task, layout, problem); !mended) return mended.error();
  }
  return changed;
}

Status remove_table(const TableTask& task) {
  bool seen = false;
  // From then on a table of that name is this one for a while, or one that somebody made anew.
  bool accepted = false;
  for (Patience patience(task);;) {
    Result<TableState> table = describe(task);
    if (!table) {
      if (seen && table.error().code() == ErrorCode::kNotFound) return {};
      return table.error();
    }
    std::string state = "table " + table->status;
    if (table->status == "DELETING") accepted = true;
    if (!accepted) {
      if (!seen) tell(task, "deleting the table");
      CallResult result = call(task, "DeleteTable", table_name_body(task.table), Effect::kWrite);
      if (is_trouble(result, ServiceTrouble::kNoSuchTable)) return {};
      if (!may_come_about(result)) {
        return error_of(*std::get_if<CallTrouble>(&result), task.table, "deleting the table");
      }
      accepted = std::holds_alternative<std::string>(result);
      if (accepted) state = "table DELETING";
    }
    seen = true;
    if (Status waited = patience.wait(state); !waited) return waited;
  }
}

}  // namespace stint::store::dynamodb
