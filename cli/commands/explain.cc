// stint explain ENTITY RESOURCE [--need LIMIT=N...]
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/instant.h"
#include "cli/limit_grammar.h"
#include "cli/number_text.h"

namespace stint::cli {
namespace {

constexpr int kBarWidth = 20;
constexpr std::size_t kWidth = 100;

struct ExplainArguments {
  std::string entity;
  std::string resource;
  std::vector<std::string> need;
};

// A limit with what the limiter says about two questions that everybody has.
struct ExplainedLimit {
  LimitExplanation facts;
  /// When it holds all that it may, if nobody uses it; absent when that is not in reach, and for
  /// soft limits, which make nobody wait.
  std::optional<TimePoint> full_at;
  /// When it holds a whole token; absent in the same cases.
  std::optional<TimePoint> usable_at;
};

struct ExplainedBucket {
  BucketExplanation facts;
  std::vector<ExplainedLimit> limits;
};

struct Question {
  std::vector<Consume> need;
  Availability answer;
};

// How long each limit of a bucket needs to hold what `amount_of` says.
template <typename AmountOf>
Result<std::vector<std::optional<Millis>>> ask_waits(Limiter& limiter,
                                                     const BucketExplanation& bucket,
                                                     AmountOf amount_of) {
  std::vector<Consume> need;
  for (const LimitExplanation& limit : bucket.limits) {
    need.push_back({limit.limit.name(), Amount(amount_of(limit))});
  }
  Result<Availability> answer = limiter.available(bucket.entity, bucket.resource, need);
  if (!answer) return answer.error();
  std::vector<std::optional<Millis>> waits;
  for (const LimitExplanation& limit : bucket.limits) {
    auto found =
        std::find_if(answer->limits.begin(), answer->limits.end(), [&](const LimitStatus& status) {
          return status.entity == bucket.entity && status.name == limit.limit.name();
        });
    waits.push_back(found == answer->limits.end() ? std::nullopt : found->retry_after);
  }
  return waits;
}

Result<std::vector<ExplainedBucket>> gather(Limiter& limiter, const ExplainArguments& arguments,
                                            TimePoint now) {
  Result<Explanation> explanation = limiter.explain(arguments.entity, arguments.resource);
  if (!explanation) return explanation.error();
  std::vector<ExplainedBucket> buckets;
  for (BucketExplanation& facts : explanation->buckets) {
    ExplainedBucket bucket{std::move(facts), {}};
    Result<std::vector<std::optional<Millis>>> full =
        ask_waits(limiter, bucket.facts, [](const auto& limit) { return limit.status.capacity; });
    if (!full) return full.error();
    Result<std::vector<std::optional<Millis>>> usable =
        ask_waits(limiter, bucket.facts, [](const auto&) { return MilliTokens(1000); });
    if (!usable) return usable.error();
    for (std::size_t i = 0; i < bucket.facts.limits.size(); ++i) {
      ExplainedLimit limit{bucket.facts.limits[i], std::nullopt, std::nullopt};
      if (limit.facts.status.soft || limit.facts.limit.soft()) {
        bucket.limits.push_back(std::move(limit));
        continue;
      }
      if ((*full)[i]) limit.full_at = now + *(*full)[i];
      if ((*usable)[i]) limit.usable_at = now + *(*usable)[i];
      bucket.limits.push_back(std::move(limit));
    }
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

std::string_view describe_level(ConfigLevel level) {
  switch (level) {
    case ConfigLevel::kCall: return "passed with a call";
    case ConfigLevel::kEntityResource: return "set for this entity and resource";
    case ConfigLevel::kEntity: return "set for this entity on every resource";
    case ConfigLevel::kResource: return "set for this resource";
    case ConfigLevel::kSystem: return "set for the whole system";
    case ConfigLevel::kNone: return "set nowhere";
  }
  return "unknown";
}

// "2027-03-14 08:00:00 +01:00 Europe/Berlin (in 4 h 12 min)"
std::string when(TimePoint at, const Viewpoint& view, TimeZone zone) {
  std::string wait = fmt::format("(in {})", format_wait(at - view.now));
  std::replace(wait.begin(), wait.end(), ' ', kNoBreak);
  return format_exact(at, zone) + " " + wait;
}

class TextWriter {
 public:
  TextWriter(std::ostream& out, const Viewpoint& view) : out_(out), view_(view) {}

  void write(const std::vector<ExplainedBucket>& buckets, const std::optional<Question>& question) {
    for (const ExplainedBucket& bucket : buckets) {
      bool parent = &bucket != &buckets.front();
      if (parent) out_ << '\n';
      write_bucket(bucket, parent);
    }
    if (question) {
      out_ << '\n';
      write_answer(*question);
    }
  }

 private:
  // A sentence or more, wrapped; what is said of one limit is indented.
  template <typename... T>
  void say(fmt::format_string<T...> format, T&&... values) {
    out_ << wrap(fmt::format(format, std::forward<T>(values)...), kWidth) << '\n';
  }
  template <typename... T>
  void detail(fmt::format_string<T...> format, T&&... values) {
    std::string text = "  " + fmt::format(format, std::forward<T>(values)...);
    out_ << wrap(text, kWidth, "  ") << '\n';
  }

  void write_bucket(const ExplainedBucket& bucket, bool parent) {
    const BucketExplanation& facts = bucket.facts;
    out_ << view_.terminal.paint(Colour::kBold,
                                 fmt::format("{} on {}", facts.entity, facts.resource));
    if (parent) {
      out_ << " (the parent: what the entity uses, this one uses too)\n";
    } else {
      out_ << ", at " << format_exact(view_.now, view_.zone_or_utc()) << '\n';
    }
    switch (facts.access) {
      case AccessPolicy::kEnforce: break;
      case AccessPolicy::kDisabled:
        say("Access is disabled: every request is refused, whatever the limits hold.");
        break;
      case AccessPolicy::kBypass:
        say("Access is bypassed: every request passes; use is counted, balances do not move.");
        break;
    }
    if (bucket.limits.empty()) {
      say("No limits apply: none are set for the entity on this resource, the entity, the resource "
          "or the system. `stint limits set` sets some.");
      return;
    }
    say("{} {}, {}. (Limits are looked up for the entity on this resource, the entity, the "
        "resource "
        "and the system, in this order; the first place that has any decides.)",
        bucket.limits.size(), bucket.limits.size() == 1 ? "limit applies" : "limits apply",
        describe_level(facts.level));
    if (!facts.exists) {
      say("Nothing was used yet, so that nothing is stored; the first admitted use creates the "
          "bucket, full.");
    }
    for (const ExplainedLimit& limit : bucket.limits) write_limit(facts, limit);
    write_storage(facts);
  }

  void write_limit(const BucketExplanation& bucket, const ExplainedLimit& explained) {
    const LimitExplanation& facts = explained.facts;
    const LimitStatus& status = facts.status;
    TimeZone zone = view_.zone_of(bucket.entity, facts.limit.name());
    out_ << '\n' << view_.terminal.paint(Colour::kBold, facts.limit.name());
    out_ << ": " << describe_limit(facts.limit) << ".\n";
    detail("holds {} of {}  {}", format_amount_grouped(status.remaining),
           format_amount_grouped(status.capacity),
           format_bar(status.remaining, status.capacity, kBarWidth, view_.terminal.unicode));
    write_recovery(explained, zone);
    if (status.remaining.count() < 0) {
      detail("It is in debt: more was used than it held.");
    }
    if (status.remaining.count() < 1000 && explained.usable_at) {
      detail("Used up: a request for 1 is rejected until {}.",
             when(*explained.usable_at, view_, zone));
    }
    write_schedule(facts, zone);
    if (bucket.exists && !facts.on_item) {
      detail("The bucket does not hold it yet; its next use adds it, full.");
    }
    if (!facts.hindrance.empty()) {
      detail("A request for it is refused: {}.", facts.hindrance);
    }
    if (facts.stale) {
      detail("The bucket still goes by earlier parameters; its next refill brings these in.");
    }
    if (facts.on_item) {
      detail("{} used since the bucket was created.", format_amount_grouped(facts.consumed));
    }
  }

  void write_recovery(const ExplainedLimit& explained, TimeZone zone) {
    const LimitExplanation& facts = explained.facts;
    const LimitStatus& status = facts.status;
    switch (facts.limit.kind()) {
      case LimitKind::kRate:
        if (status.remaining >= status.capacity) {
          detail("Full: it recovers all the time, but holds no more than that.");
        } else if (explained.full_at) {
          detail("Recovers all the time; left alone it is full at {}.",
                 when(*explained.full_at, view_, zone));
        } else {
          detail("Recovers all the time.");
        }
        break;
      case LimitKind::kCalendar:
        if (status.resets_at) {
          detail(
              "Recovers whole at {}, the next edge of its calendar, however much or little was "
              "used.",
              when(*status.resets_at, view_, zone));
        } else {
          detail("Its calendar has no edge in reach, so that it does not recover.");
        }
        break;
      case LimitKind::kSession:
        if (status.window == WindowState::kRunning && status.resets_at) {
          if (facts.window_start) {
            detail("Its window was opened by a use at {}.",
                   format_exact(*facts.window_start, zone));
          }
          detail("Recovers whole when that ends, at {}.", when(*status.resets_at, view_, zone));
        } else {
          detail(
              "Window not started: time runs only from the next use on. Used now, the window "
              "would end at {}.",
              when(view_.now + facts.limit.reset_after(), view_, zone));
        }
        break;
    }
  }

  void write_schedule(const LimitExplanation& facts, TimeZone zone) {
    const std::vector<LevelEntry>& schedule = facts.limit.schedule();
    if (schedule.empty()) return;
    if (facts.active_entry) {
      const LevelEntry& entry = schedule[static_cast<std::size_t>(*facts.active_entry)];
      detail("Its schedule is at line {} of {}: \"{}\" sets {}.", *facts.active_entry + 1,
             schedule.size(), entry.cron().text(), format_change(entry));
    } else {
      detail("None of the {} lines of its schedule is in force.", schedule.size());
    }
    if (facts.next_change) {
      detail("The schedule is looked at again at {}.", when(*facts.next_change, view_, zone));
    }
  }

  void write_storage(const BucketExplanation& facts) {
    if (!facts.exists) return;
    out_ << '\n';
    say("Stored: {} bytes; a write costs {} write {}, and {} for indexes.", facts.item_bytes,
        facts.write_units, facts.write_units == 1 ? "unit" : "units", facts.index_write_units);
    if (facts.expires_at) {
      say("Kept until {}, unless used before.",
          format_exact(*facts.expires_at, view_.zone_or_utc()));
    }
  }

  void write_answer(const Question& question) {
    std::vector<std::string> wishes;
    for (const Consume& amount : question.need) {
      wishes.push_back(
          fmt::format("{} of {}", format_amount_grouped(amount.amount.milli()), amount.limit));
    }
    const Availability& answer = question.answer;
    std::string request = fmt::format("A request for {}", fmt::join(wishes, " and "));
    if (answer.access == AccessPolicy::kDisabled) {
      say("{} is refused: access is disabled.", request);
      return;
    }
    if (answer.access == AccessPolicy::kBypass) {
      say("{} passes now: access is bypassed.", request);
      return;
    }
    if (answer.fits) {
      say("{} would be {} now.", request, view_.terminal.paint(Colour::kGreen, "admitted"));
      return;
    }
    say("{} would be {} now:", request, view_.terminal.paint(Colour::kRed, "rejected"));
    for (const LimitStatus& status : answer.limits) {
      if (status.exceeded || status.never_fits) write_shortage(status);
    }
    if (answer.never_fits) {
      say("It will never pass: ask for less, or raise the limit.");
    } else if (!answer.hindrance.empty()) {
      detail("{}.", answer.hindrance);
    } else if (answer.wait) {
      say("It will pass at {}, if nobody else uses anything until then.",
          when(view_.now + *answer.wait, view_, view_.zone_of_wait(answer.limits)));
    } else {
      say("No reset that would let it pass is in reach.");
    }
  }

  void write_shortage(const LimitStatus& status) {
    std::string holds = fmt::format("{} of {} holds {}", status.name, status.entity,
                                    format_amount_grouped(status.remaining));
    if (status.never_fits) {
      detail("{} and can never hold {}.", holds, format_amount_grouped(status.requested));
      return;
    }
    MilliTokens missing(status.requested.count() - status.remaining.count());
    std::string until = "with no reset in reach";
    if (status.retry_after) {
      until = "and will hold enough at " + when(view_.now + *status.retry_after, view_,
                                                view_.zone_of(status.entity, status.name));
    }
    detail("{}, {} short, {}.", holds, format_amount_grouped(missing), until);
  }

  std::ostream& out_;
  const Viewpoint& view_;
};

void write_json_limit(JsonWriter& json, const ExplainedLimit& explained) {
  const LimitExplanation& facts = explained.facts;
  json.begin_object();
  json.key("limit");
  write_limit(json, facts.limit);
  json.member("level", to_string(facts.level));
  json.key("status");
  write_status(json, facts.status);
  json.member("on_item", facts.on_item);
  json.member("refilled_at_ms", facts.refilled_at);
  json.member("window_start_ms", facts.window_start);
  json.member("full_at_ms", explained.full_at);
  json.member("usable_at_ms", explained.usable_at);
  json.member("consumed", facts.consumed);
  json.member("active_entry", facts.active_entry);
  json.member("next_change_ms", facts.next_change);
  json.member("stale", facts.stale);
  write_hindrance(json, facts.hindrance);
  json.end_object();
}

void write_json(std::ostream& out, TimePoint now, const std::vector<ExplainedBucket>& buckets,
                const std::optional<Question>& question) {
  JsonWriter json;
  json.begin_object();
  json.member("now_ms", now);
  json.key("buckets");
  json.begin_array();
  for (const ExplainedBucket& bucket : buckets) {
    const BucketExplanation& facts = bucket.facts;
    json.begin_object();
    json.member("entity", facts.entity);
    json.member("resource", facts.resource);
    json.member("level", to_string(facts.level));
    json.member("access", to_string(facts.access));
    json.member("exists", facts.exists);
    json.key("limits");
    json.begin_array();
    for (const ExplainedLimit& limit : bucket.limits) write_json_limit(json, limit);
    json.end_array();
    json.member("item_bytes", facts.item_bytes);
    json.member("write_units", facts.write_units);
    json.member("index_write_units", facts.index_write_units);
    json.member("expires_at_ms", facts.expires_at);
    json.member("valid_until_ms", facts.valid_until);
    json.end_object();
  }
  json.end_array();
  json.key("need");
  if (question) {
    const Availability& answer = question->answer;
    json.begin_object();
    json.member("fits", answer.fits);
    json.member("never_fits", answer.never_fits);
    write_hindrance(json, answer.hindrance);
    json.member("wait_ms", answer.wait);
    json.member("passes_at_ms", answer.wait ? std::optional(now + *answer.wait) : std::nullopt);
    json.key("limits");
    json.begin_array();
    for (const LimitStatus& status : answer.limits) write_status(json, status);
    json.end_array();
    json.end_object();
  } else {
    json.value(nullptr);
  }
  json.end_object();
  out << json.text() << '\n';
}

Result<int> run_explain(const ExplainArguments& arguments, Globals& globals) {
  if (Status status = check_target(arguments.entity, arguments.resource); !status) {
    return status.error();
  }
  Result<std::vector<Consume>> need = parse_amounts("need", arguments.need);
  if (!need) return need.error();
  Result<Limiter> limiter = globals.open_reader();
  if (!limiter) return limiter.error();
  Result<std::vector<ExplainedBucket>> buckets = gather(*limiter, arguments, globals.now());
  if (!buckets) return buckets.error();
  std::optional<Question> question;
  if (!need->empty()) {
    Result<Availability> answer = limiter->available(arguments.entity, arguments.resource, *need);
    if (!answer) return answer.error();
    question = Question{*need, *std::move(answer)};
  }

  if (globals.json) {
    write_json(globals.out, globals.now(), *buckets, question);
    return kExitOk;
  }
  Viewpoint view{globals.now(), globals.terminal, globals.zone};
  for (const ExplainedBucket& bucket : *buckets) {
    for (const LimitExplanation& limit : bucket.facts.limits) {
      Result<TimeZone> zone = TimeZone::find(limit.limit.zone());
      if (zone) view.limit_zones.emplace(std::pair(bucket.facts.entity, limit.limit.name()), *zone);
    }
  }
  TextWriter(globals.out, view).write(*buckets, question);
  return kExitOk;
}

}  // namespace

void add_explain_command(CLI::App& app, Globals& globals) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command = add_subcommand(
      app, "explain", "Tell in words which limits apply, what they hold, when and why they recover",
      "stint explain user-1 api --need tokens=5000");
  command->add_option("ENTITY", arguments->entity, "Who uses")->required();
  command->add_option("RESOURCE", arguments->resource, "What is used")->required();
  add_amounts_option(*command, "--need", arguments->need,
                     "A request to explain: would it pass, why not, and when");
  set_action(*command, arguments, globals, run_explain);
}

}  // namespace stint::cli
