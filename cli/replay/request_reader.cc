#include "cli/replay/request_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/replay/time_text.h"
#include "model/names.h"
#include "stint/amount.h"

namespace stint::cli {
namespace {

// What is quoted from a record in a message is short and printable.
std::string quoted(std::string_view text) {
  const Error error = Error::invalid("", text, "");
  return "\"" + error.value() + "\"";
}

Status validate_entity(std::string_view id) { return model::validate_entity_id("entity", id); }

}  // namespace

Result<TextRule> TextRule::parse(const std::string& option, std::string_view text) {
  TextRule rule;
  rule.constant = !text.empty() && text.front() == '=';
  rule.text = text.substr(rule.constant ? 1 : 0);
  if (rule.text.empty()) {
    return Error::invalid(option, text, "expected the name of a field, or = and a constant");
  }
  return rule;
}

std::size_t RequestReader::want(const std::string& field) {
  const auto found = std::find(wanted_.begin(), wanted_.end(), field);
  if (found != wanted_.end()) return static_cast<std::size_t>(found - wanted_.begin());
  wanted_.push_back(field);
  return wanted_.size() - 1;
}

Result<std::unique_ptr<RequestReader>> RequestReader::open(RequestRules rules, ByteSource& source) {
  const bool own_amounts = rules.consume.empty();
  if (own_amounts && rules.format != TrafficFormat::kJsonLines) {
    return Error::invalid("consume", "", "is needed: only JSON lines bring amounts of their own");
  }
  for (std::size_t i = 0; i < rules.consume.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (rules.consume[i].limit == rules.consume[j].limit) {
        return Error::invalid("consume", rules.consume[i].limit,
                              "is given twice; one amount may be a sum such as a+b");
      }
    }
  }
  if (rules.entity.constant) {
    if (Status status = validate_entity(rules.entity.text); !status) return status.error();
  }
  if (rules.resource.constant) {
    if (Status status = model::validate_resource(rules.resource.text); !status) {
      return status.error();
    }
  }
  std::unique_ptr<RequestReader> reader(new RequestReader(std::move(rules)));
  const RequestRules& kept = reader->rules_;
  reader->time_field_ = reader->want(kept.time_field);
  if (!kept.entity.constant) reader->entity_field_ = reader->want(kept.entity.text);
  if (!kept.resource.constant) reader->resource_field_ = reader->want(kept.resource.text);
  for (std::size_t i = 0; i < kept.consume.size(); ++i) {
    const Expression& amount = kept.consume[i].amount;
    Term term{static_cast<std::uint32_t>(i), amount.constant, {}};
    for (const std::string& field : amount.fields) term.fields.push_back(reader->want(field));
    reader->terms_.push_back(std::move(term));
  }
  Result<std::unique_ptr<RowReader>> rows =
      make_row_reader(kept.format, source, reader->wanted_, own_amounts);
  if (!rows) return rows.error();
  reader->rows_ = std::move(*rows);
  return reader;
}

bool RequestReader::refuse(std::string problem) {
  row_.problem = std::move(problem);
  return false;
}

bool RequestReader::text_of(const TextRule& rule, std::size_t field, std::string_view& text) {
  if (rule.constant) {
    text = rule.text;
    return true;
  }
  if (!row_.fields[field]) return refuse("has no field " + rule.text);
  text = *row_.fields[field];
  return true;
}

bool RequestReader::number_name(NameTable& names, Status (*validate)(std::string_view),
                                std::string_view name, std::uint32_t& number) {
  if (const std::optional<std::uint32_t> known = names.find(name)) {
    number = *known;
    return true;
  }
  if (Status status = validate(name); !status) return refuse(status.error().message());
  number = names.add(name);
  return true;
}

bool RequestReader::add_rule_amounts(Traffic& traffic) {
  for (const Term& term : terms_) {
    const std::string& limit = rules_.consume[term.limit_index].limit;
    std::int64_t sum = term.constant;
    for (std::size_t field : term.fields) {
      if (!row_.fields[field]) return refuse("has no field " + wanted_[field]);
      const std::optional<std::int64_t> tokens = parse_whole_tokens(*row_.fields[field]);
      if (!tokens) {
        return refuse("has " + quoted(*row_.fields[field]) + " in " + wanted_[field] +
                      ", which is no whole number of tokens");
      }
      sum += *tokens;
      if (sum > kMaxTokens) {
        return refuse("consumes more than " + std::to_string(kMaxTokens) + " tokens of " + limit);
      }
    }
    traffic.amounts.push_back({traffic.limits.add(limit), sum});
  }
  return true;
}

bool RequestReader::add_own_amounts(Traffic& traffic) {
  const std::size_t first = traffic.amounts.size();
  if (row_.consume.empty()) return refuse("consumes no limit");
  for (const Row::Amount& amount : row_.consume) {
    const std::optional<std::int64_t> tokens = parse_whole_tokens(amount.tokens);
    if (!tokens) {
      return refuse("has " + quoted(amount.tokens) + " for " + quoted(amount.limit) +
                    ", which is no whole number of tokens");
    }
    std::uint32_t limit = 0;
    if (!number_name(traffic.limits, model::validate_limit_name, amount.limit, limit)) return false;
    for (std::size_t i = first; i < traffic.amounts.size(); ++i) {
      if (traffic.amounts[i].limit == limit) {
        return refuse("consumes " + quoted(amount.limit) + " twice");
      }
    }
    traffic.amounts.push_back({limit, *tokens});
  }
  return true;
}

RequestReader::Outcome RequestReader::next(Traffic& traffic) {
  switch (rows_->next(row_)) {
    case RowReader::Outcome::kRow: break;
    case RowReader::Outcome::kMalformed: return Outcome::kSkipped;
    case RowReader::Outcome::kEnd: return Outcome::kEnd;
    case RowReader::Outcome::kFailed: return Outcome::kFailed;
  }
  const std::size_t first = traffic.amounts.size();
  RecordedRequest request{};
  request.line = row_.line;
  request.first = first;
  const auto understood = [&] {
    if (!row_.fields[time_field_]) return refuse("has no field " + rules_.time_field);
    const std::optional<TimePoint> time = parse_time(*row_.fields[time_field_]);
    if (!time) {
      return refuse("has " + quoted(*row_.fields[time_field_]) + " in " + rules_.time_field +
                    ", which is no time");
    }
    request.time = *time;
    std::string_view entity;
    std::string_view resource;
    return text_of(rules_.entity, entity_field_, entity) &&
           text_of(rules_.resource, resource_field_, resource) &&
           number_name(traffic.entities, validate_entity, entity, request.entity) &&
           number_name(traffic.resources, model::validate_resource, resource, request.resource) &&
           (terms_.empty() ? add_own_amounts(traffic) : add_rule_amounts(traffic));
  };
  if (!understood()) {
    traffic.amounts.resize(first);
    return Outcome::kSkipped;
  }
  request.count = static_cast<std::uint32_t>(traffic.amounts.size() - first);
  traffic.requests.push_back(request);
  return Outcome::kRequest;
}

}  // namespace stint::cli
