#include "cli/replay/decision_writer.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace stint::cli {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

template <typename Integer>
void append_number(std::string& text, Integer number) {
  char digits[24];
  const char* end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  text.append(digits, static_cast<std::size_t>(end - digits));
}

void append_tokens(std::string& text, MilliTokens amount) {
  const std::int64_t milli = amount.count();
  if (milli < 0) text += '-';
  // The magnitude of the least number exists only unsigned.
  const std::uint64_t magnitude =
      milli < 0 ? 0 - static_cast<std::uint64_t>(milli) : static_cast<std::uint64_t>(milli);
  append_number(text, magnitude / 1000);
  const auto thousandths = static_cast<int>(magnitude % 1000);
  if (thousandths == 0) return;
  const char digits[3] = {static_cast<char>('0' + thousandths / 100),
                          static_cast<char>('0' + thousandths / 10 % 10),
                          static_cast<char>('0' + thousandths % 10)};
  std::size_t length = 3;
  while (digits[length - 1] == '0') --length;
  text += '.';
  text.append(digits, length);
}

void append_name(std::string& text, std::string_view name) {
  text += '"';
  text += name;
  text += '"';
}

void separate(std::string& text, bool& first) {
  if (!std::exchange(first, false)) text += ',';
}

}  // namespace

void append_decision(std::string& text, const WrittenDecision& decision) {
  text += "{\"line\":";
  append_number(text, decision.line);
  text += ",\"time_ms\":";
  append_number(text, decision.time.time_since_epoch().count());
  text += ",\"entity\":";
  append_name(text, decision.entity);
  text += ",\"resource\":";
  append_name(text, decision.resource);
  text += decision.admitted ? ",\"admitted\":true" : ",\"admitted\":false";
  if (decision.disabled) text += ",\"disabled\":true";
  text += ",\"short\":[";
  bool first = true;
  for (const DeclaredOutcome& limit : decision.limits) {
    if (!limit.exceeded) continue;
    separate(text, first);
    append_name(text, limit.limit);
  }
  text += "],\"retry_after_ms\":";
  if (decision.retry_after) {
    append_number(text, decision.retry_after->count());
  } else {
    text += "null";
  }
  text += ",\"resets_at_ms\":{";
  first = true;
  for (const DeclaredOutcome& limit : decision.limits) {
    if (limit.status == nullptr || limit.status->kind == LimitKind::kRate) continue;
    separate(text, first);
    append_name(text, limit.limit);
    text += ':';
    if (limit.status->resets_at) {
      append_number(text, limit.status->resets_at->time_since_epoch().count());
    } else {
      text += "null";
    }
  }
  text += "},\"remaining\":{";
  first = true;
  for (const DeclaredOutcome& limit : decision.limits) {
    if (limit.status == nullptr) continue;
    separate(text, first);
    append_name(text, limit.limit);
    text += ':';
    append_tokens(text, limit.status->remaining);
  }
  text += "}}\n";
}

DecisionWriter::DecisionWriter(std::string path, std::FILE* file)
    : path_(std::move(path)), file_(file) {
  buffer_.reserve(kPieceBytes + 4096);
}

Result<std::unique_ptr<DecisionWriter>> DecisionWriter::open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) return Error::invalid("decisions", path, std::strerror(errno));
  return std::unique_ptr<DecisionWriter>(new DecisionWriter(path, file));
}

void DecisionWriter::write(const WrittenDecision& decision) {
  append_decision(buffer_, decision);
  if (buffer_.size() >= kPieceBytes) flush();
}

void DecisionWriter::flush() {
  if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) != buffer_.size() &&
      error_number_ == 0) {
    error_number_ = errno;
  }
  buffer_.clear();
}

Status DecisionWriter::finish() {
  flush();
  if (std::fclose(file_.release()) != 0 && error_number_ == 0) error_number_ = errno;
  if (error_number_ == 0) return {};
  return Error::invalid("decisions", path_, std::strerror(error_number_));
}

}  // namespace stint::cli
