#include "cli/replay/line_reader.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <span>

namespace stint::cli {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

LineReader::LineReader(ByteSource& source, std::size_t max_record_bytes)
    : source_(source),
      max_record_bytes_(max_record_bytes),
      buffer_(max_record_bytes + kReadBytes + kPadding) {}

bool LineReader::fill() {
  if (at_end_) return false;
  if (buffer_.size() - kPadding - filled_ < kReadBytes / 2 && start_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + start_, filled_ - start_);
    offset_ += start_;
    filled_ -= start_;
    first_end_ -= start_;
    record_end_ -= start_;
    text_end_ -= start_;
    start_ = 0;
  }
  const std::size_t room = buffer_.size() - kPadding - filled_;
  assert(room > 0);
  Result<std::size_t> got =
      source_.read(std::span<char>(buffer_.data() + filled_, std::min(room, kReadBytes)));
  if (!got) {
    error_ = got.error();
    at_end_ = true;
    return false;
  }
  if (*got == 0) {
    at_end_ = true;
    return false;
  }
  filled_ += *got;
  return true;
}

LineReader::Outcome LineReader::find_line_end(std::size_t from, std::size_t& end) {
  std::size_t searched = from;
  while (true) {
    const void* found = std::memchr(buffer_.data() + searched, '\n', filled_ - searched);
    if (found != nullptr) {
      end = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data()) + 1;
      break;
    }
    if (filled_ - start_ > max_record_bytes_ + 2) return Outcome::kTooLong;
    const std::size_t from_start = from - start_;
    const std::size_t searched_from_start = filled_ - start_;
    if (!fill()) {
      if (error_) return Outcome::kFailed;
      if (from == filled_) return Outcome::kEnd;
      end = filled_;
      break;
    }
    from = start_ + from_start;
    searched = start_ + searched_from_start;
  }
  return Outcome::kLine;
}

void LineReader::set_text_end() {
  text_end_ = record_end_;
  if (text_end_ > start_ && buffer_[text_end_ - 1] == '\n') {
    --text_end_;
    if (text_end_ > start_ && buffer_[text_end_ - 1] == '\r') --text_end_;
  }
}

LineReader::Outcome LineReader::skip_long_line() {
  // Only the end of the line matters, so that the buffer is emptied as it comes.
  while (true) {
    const void* found = std::memchr(buffer_.data() + start_, '\n', filled_ - start_);
    if (found != nullptr) {
      record_end_ = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data()) + 1;
      break;
    }
    start_ = first_end_ = record_end_ = text_end_ = filled_;
    if (!fill()) {
      if (error_) return Outcome::kFailed;
      break;
    }
  }
  start_ = first_end_ = text_end_ = record_end_;
  return Outcome::kTooLong;
}

LineReader::Outcome LineReader::next() {
  if (!started_) {
    started_ = true;
    while (filled_ < kByteOrderMark.size() && fill()) {
    }
    if (std::string_view(buffer_.data(), filled_).substr(0, kByteOrderMark.size()) ==
        kByteOrderMark) {
      start_ = first_end_ = record_end_ = text_end_ = kByteOrderMark.size();
    }
  }
  if (error_) return Outcome::kFailed;
  line_ += lines_;
  if (line_ == 0) line_ = 1;
  lines_ = 1;
  start_ = first_end_ = text_end_ = record_end_;
  std::size_t end = 0;
  Outcome outcome = find_line_end(start_, end);
  if (outcome == Outcome::kTooLong) return skip_long_line();
  if (outcome != Outcome::kLine) {
    lines_ = 0;
    return outcome;
  }
  first_end_ = record_end_ = end;
  set_text_end();
  if (text_end_ - start_ > max_record_bytes_) {
    start_ = text_end_ = record_end_;
    return Outcome::kTooLong;
  }
  return Outcome::kLine;
}

LineReader::Outcome LineReader::extend() {
  std::size_t end = 0;
  const Outcome outcome = find_line_end(record_end_, end);
  if (outcome != Outcome::kLine) return outcome;
  if (end - start_ > max_record_bytes_) return Outcome::kTooLong;
  record_end_ = end;
  ++lines_;
  set_text_end();
  return Outcome::kLine;
}

void LineReader::keep_first_line() {
  record_end_ = first_end_;
  lines_ = 1;
  set_text_end();
}

}  // namespace stint::cli
