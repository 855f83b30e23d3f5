#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "cli/replay/line_reader.h"
#include "cli/replay/row.h"

namespace stint::cli {
namespace {

enum Field : std::size_t { kClient, kTime, kPath, kStatus, kBytes, kFieldCount };
constexpr std::array<std::string_view, kFieldCount> kNames = {"client", "time", "path", "status",
                                                              "bytes"};

// Takes one token up to a blank, and the blank.
bool take_token(std::string_view& rest, std::string_view& token) {
  const std::size_t end = rest.find(' ');
  if (end == 0 || rest.empty()) return false;
  token = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return true;
}

// Takes a text between `open` and `close`, and one blank after it. A backslash escapes.
bool take_enclosed(std::string_view& rest, char open, char close, std::string_view& inner) {
  if (rest.empty() || rest.front() != open) return false;
  std::size_t end = 1;
  while (end < rest.size() && rest[end] != close) end += rest[end] == '\\' ? 2 : 1;
  if (end >= rest.size()) return false;
  inner = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  if (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return true;
}

class CombinedReader final : public RowReader {
 public:
  CombinedReader(ByteSource& source, std::vector<std::size_t> wanted)
      : lines_(source), wanted_(std::move(wanted)) {}

  Outcome next(Row& row) override {
    LineReader::Outcome outcome;
    do {
      outcome = lines_.next();
    } while (outcome == LineReader::Outcome::kLine && lines_.text().empty());
    row.line = lines_.line();
    if (auto none = without_line(outcome, lines_, row.problem)) return *none;
    if (!split(lines_.text())) {
      row.problem = "is not a line of a web server's log";
      return Outcome::kMalformed;
    }
    row.fields.clear();
    for (std::size_t field : wanted_) row.fields.push_back(found_[field]);
    return Outcome::kRow;
  }

  std::uint64_t position() const override { return lines_.position(); }

 private:
  // client identity user [time] "request" status bytes, and what may follow.
  bool split(std::string_view rest) {
    std::string_view client;
    std::string_view identity;
    std::string_view user;
    std::string_view time;
    std::string_view request;
    std::string_view status;
    std::string_view bytes;
    if (!take_token(rest, client) || !take_token(rest, identity) || !take_token(rest, user) ||
        !take_enclosed(rest, '[', ']', time) || !take_enclosed(rest, '"', '"', request) ||
        !take_token(rest, status) || !take_token(rest, bytes)) {
      return false;
    }
    found_[kClient] = client;
    found_[kTime] = time;
    found_[kStatus] = status;
    // "-" stands for an answer without a body.
    found_[kBytes] = bytes == "-" ? std::string_view("0") : bytes;
    // A broken request line has no path; the record is of use all the same.
    found_[kPath] = std::nullopt;
    std::string_view method;
    std::string_view path;
    if (take_token(request, method) && take_token(request, path)) found_[kPath] = path;
    return true;
  }

  LineReader lines_;
  std::vector<std::size_t> wanted_;
  std::array<std::optional<std::string_view>, kFieldCount> found_;
};

}  // namespace

Result<std::unique_ptr<RowReader>> make_combined_reader(ByteSource& source,
                                                        const std::vector<std::string>& fields) {
  std::vector<std::size_t> wanted;
  for (const std::string& field : fields) {
    std::size_t found = 0;
    while (found < kFieldCount && kNames[found] != field) ++found;
    if (found == kFieldCount) {
      return Error::invalid("field", field,
                            "the combined format has: client, time, path, status, bytes");
    }
    wanted.push_back(found);
  }
  return std::unique_ptr<RowReader>(std::make_unique<CombinedReader>(source, std::move(wanted)));
}

}  // namespace stint::cli
