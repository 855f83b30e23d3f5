// From the records of a file to requests, by the rules that the command line gives.
#ifndef STINT_CLI_REPLAY_REQUEST_READER_H_
#define STINT_CLI_REPLAY_REQUEST_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/replay/byte_source.h"
#include "cli/replay/expression.h"
#include "cli/replay/row.h"
#include "cli/replay/traffic.h"
#include "stint/result.h"

namespace stint::cli {

/// Where a text comes from: `FIELD`, or `=CONSTANT`.
struct TextRule {
  bool constant = false;
  std::string text;

  /// Errors: `kInvalidArgument` with field `option` for nothing.
  static Result<TextRule> parse(const std::string& option, std::string_view text);
};

/// How a record becomes a request.
struct RequestRules {
  TrafficFormat format = TrafficFormat::kCsv;
  std::string time_field = "time";
  TextRule entity{false, "entity"};
  TextRule resource{false, "resource"};
  /// Empty: each record of JSON lines brings its own amounts.
  std::vector<ConsumeRule> consume;
};

/// Reads requests one by one. What it cannot use it skips, with a reason.
class RequestReader {
 public:
  /// Errors: `kInvalidArgument` for rules that the input or any input cannot fulfil.
  static Result<std::unique_ptr<RequestReader>> open(RequestRules rules, ByteSource& source);

  enum class Outcome {
    kRequest,  ///< One was added to the traffic.
    kSkipped,  ///< `line` and `problem` say what was left out and why.
    kEnd,
    kFailed,  ///< The input cannot be read further; `problem` says why.
  };
  Outcome next(Traffic& traffic);

  std::uint64_t line() const { return row_.line; }
  const std::string& problem() const { return row_.problem; }
  /// Bytes of input consumed.
  std::uint64_t position() const { return rows_->position(); }

 private:
  struct Term {
    std::uint32_t limit_index;  // into the rules
    std::int64_t constant;
    std::vector<std::size_t> fields;
  };

  explicit RequestReader(RequestRules rules) : rules_(std::move(rules)) {}

  std::size_t want(const std::string& field);
  bool text_of(const TextRule& rule, std::size_t field, std::string_view& text);
  bool number_name(NameTable& names, Status (*validate)(std::string_view), std::string_view name,
                   std::uint32_t& number);
  bool add_rule_amounts(Traffic& traffic);
  bool add_own_amounts(Traffic& traffic);
  bool refuse(std::string problem);

  RequestRules rules_;
  std::unique_ptr<RowReader> rows_;
  Row row_;
  std::vector<std::string> wanted_;
  std::size_t time_field_ = 0;
  std::size_t entity_field_ = 0;
  std::size_t resource_field_ = 0;
  std::vector<Term> terms_;
};

}  // namespace stint::cli

#endif  // STINT_CLI_REPLAY_REQUEST_READER_H_
