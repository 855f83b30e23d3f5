#include "cli/command.h"

#include <chrono>
#include <set>
#include <utility>

#include "cli/number_text.h"
#include "model/names.h"

namespace stint::cli {
namespace {

class StandingClock : public Clock {
 public:
  explicit StandingClock(TimePoint at) : at_(at) {}
  TimePoint now() override { return at_; }

 private:
  TimePoint at_;
};

}  // namespace

TimePoint Globals::now() {
  if (clock_ == nullptr) {
    clock_ = std::make_unique<StandingClock>(
        fixed_now.value_or(std::chrono::floor<Millis>(std::chrono::system_clock::now())));
  }
  return clock_->now();
}

Result<Store> Globals::open_store(IfMissing if_missing) {
  StoreOptions options;
  options.create_if_missing = if_missing == IfMissing::kCreate;
  options.durability = durability;
  now();
  options.clock = clock_.get();
  Result<Store> store = open_store(options);
  if (store || store.error().code() != ErrorCode::kNotFound) return store;
  if (std::holds_alternative<Directory>(store_address)) {
    return Error(ErrorCode::kNotFound,
                 "there is no store in \"" + store_name +
                     "\"; `stint limits set` and `stint entity create` make one");
  }
  hint = "`stint table create` makes a table; `stint doctor` looks for what is wrong.\n";
  return store;
}

Result<Store> Globals::open_store(const StoreOptions& options) {
  if (const auto* directory = std::get_if<Directory>(&store_address)) {
    return open_embedded(directory->path, options);
  }
  if (const auto* table = std::get_if<DynamoDbOptions>(&store_address)) {
    return open_dynamodb(*table, options);
  }
  return open_memory(options);
}

Result<DynamoDbOptions> Globals::table_options() const {
  if (const auto* table = std::get_if<DynamoDbOptions>(&store_address)) return *table;
  return Error::invalid("store", store_name, "must be dynamodb://TABLE for this command");
}

Result<Limiter> Globals::open_limiter(IfMissing if_missing) {
  Result<Store> store = open_store(if_missing);
  if (!store) return store.error();
  return make_limiter(*std::move(store));
}

Result<Limiter> Globals::open_reader() {
  Result<Store> store = open_store(IfMissing::kFail);
  if (!store) return store.error();
  bool is_table = std::holds_alternative<DynamoDbOptions>(store_address);
  return make_limiter(*std::move(store), !is_table && name_space == kDefaultNamespace);
}

Limiter Globals::make_limiter(Store store, bool register_name_space) {
  // Read after the store was opened, which may take a while.
  now();
  LimiterOptions options;
  options.name_space = name_space;
  options.register_name_space = register_name_space;
  options.clock = clock_.get();
  options.audit = audit;
  if (!principal.empty()) options.principal = principal;
  return Limiter(std::move(store), options);
}

Viewpoint Globals::view(Limiter& limiter, const std::vector<LimitStatus>& statuses) {
  Viewpoint viewpoint{now(), terminal, zone};
  if (zone) return viewpoint;
  std::set<std::pair<std::string, std::string>> asked;
  for (const LimitStatus& status : statuses) {
    if (!asked.emplace(status.entity, status.resource).second) continue;
    Result<ResolvedLimits> resolved = limiter.resolve_limits(status.entity, status.resource);
    // The answer itself is known; without the limits it is only shown in UTC.
    if (!resolved) continue;
    for (const Limit& limit : resolved->limits) {
      Result<TimeZone> found = TimeZone::find(limit.zone());
      if (found) viewpoint.limit_zones.emplace(std::pair(status.entity, limit.name()), *found);
    }
  }
  return viewpoint;
}

CLI::App* add_subcommand(CLI::App& app, const std::string& name, const std::string& description,
                         const std::string& example) {
  CLI::App* command = app.add_subcommand(name, description);
  command->fallthrough();
  command->footer("Example:\n  " + example);
  return command;
}

CLI::Option* add_text_option(CLI::App& command, const std::string& name, std::string& value,
                             const std::string& type_name, const std::string& description) {
  return command.add_option(name, value, description)
      ->type_name(type_name)
      ->check([](const std::string& text) {
        return text.empty() ? std::string("must not be empty") : std::string();
      });
}

CLI::Option* add_amounts_option(CLI::App& command, const std::string& name,
                                std::vector<std::string>& values, const std::string& description) {
  return command.add_option(name, values, description)
      ->type_name("LIMIT=N ...")
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args(false);
}

Result<std::vector<Consume>> parse_amounts(const std::string& field,
                                           const std::vector<std::string>& values) {
  std::vector<Consume> amounts;
  std::set<std::string> names;
  for (const std::string& value : values) {
    for (std::string_view rest = value;;) {
      std::size_t comma = rest.find(',');
      std::string_view part = rest.substr(0, comma);
      std::size_t equals = part.find('=');
      if (equals == std::string_view::npos) {
        return Error::invalid(field, part, "must be LIMIT=N, such as rpm=1 or tokens=1.5");
      }
      std::string name(part.substr(0, equals));
      if (Status status = model::validate_limit_name(name); !status) return status.error();
      if (!names.insert(name).second) return Error::invalid(field, name, "given twice");
      Result<MilliTokens> amount = parse_amount(field, part.substr(equals + 1));
      if (!amount) return amount.error();
      amounts.push_back({std::move(name), Amount(*amount)});
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return amounts;
}

void report_left_out(Globals& globals, const std::vector<std::string>& reasons) {
  for (const std::string& reason : reasons) {
    globals.err << "stint: left out: " << reason << '\n';
  }
}

Status check_target(const std::string& entity, const std::string& resource) {
  if (Status status = model::validate_entity_id("entity", entity); !status) return status;
  return model::validate_resource(resource);
}

}  // namespace stint::cli
