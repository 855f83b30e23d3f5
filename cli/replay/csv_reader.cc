#include <cstddef>
#include <string>
#include <utility>

#include "cli/replay/line_reader.h"
#include "cli/replay/row.h"

namespace stint::cli {
namespace {

// The cells of one record, taken apart step by step as lines are added to it. Positions, not
// pointers, because the record moves when it grows.
class CsvRecord {
 public:
  enum class State { kComplete, kOpenQuote, kBad };

  void clear() {
    cells_.clear();
    scan_ = 0;
    in_quotes_ = false;
  }

  // Goes on where the last call stopped. After `kOpenQuote` the text must have grown.
  State scan(std::string_view text) {
    while (true) {
      if (!in_quotes_) {
        if (scan_ < text.size() && text[scan_] == '"') {
          cells_.push_back(Cell{scan_ + 1, 0, false});
          in_quotes_ = true;
          ++scan_;
        } else {
          std::size_t end = text.find(',', scan_);
          if (end == std::string_view::npos) end = text.size();
          cells_.push_back(Cell{scan_, end - scan_, false});
          scan_ = end;
        }
      }
      if (in_quotes_ && !close_quote(text)) return State::kOpenQuote;
      if (scan_ == text.size()) return State::kComplete;
      if (text[scan_] != ',') return State::kBad;
      ++scan_;
    }
  }

  std::size_t size() const { return cells_.size(); }

  // The cell's text; doubled quotes are undone in `scratch`, which must not move afterwards.
  std::string_view cell(std::size_t index, std::string_view text, std::string& scratch) const {
    const Cell& cell = cells_[index];
    const std::string_view raw = text.substr(cell.begin, cell.length);
    if (!cell.doubled_quotes) return raw;
    const std::size_t begin = scratch.size();
    for (std::size_t i = 0; i < raw.size(); ++i) {
      scratch += raw[i];
      if (raw[i] == '"') ++i;
    }
    return std::string_view(scratch).substr(begin);
  }

 private:
  struct Cell {
    std::size_t begin;
    std::size_t length;
    bool doubled_quotes;
  };

  bool close_quote(std::string_view text) {
    while (true) {
      const std::size_t quote = text.find('"', scan_);
      if (quote == std::string_view::npos) {
        scan_ = text.size();
        return false;
      }
      scan_ = quote + 1;
      if (scan_ == text.size() || text[scan_] != '"') break;
      cells_.back().doubled_quotes = true;
      ++scan_;
    }
    cells_.back().length = scan_ - 1 - cells_.back().begin;
    in_quotes_ = false;
    return true;
  }

  std::vector<Cell> cells_;
  std::size_t scan_ = 0;
  bool in_quotes_ = false;
};

class CsvReader final : public RowReader {
 public:
  explicit CsvReader(ByteSource& source) : lines_(source) {}

  Status read_header(const std::vector<std::string>& fields) {
    std::string problem;
    const Outcome outcome = read_record(problem);
    if (outcome == Outcome::kFailed) return *lines_.error();
    if (outcome == Outcome::kEnd) return Error::invalid("input", "", "holds no header line");
    if (outcome == Outcome::kMalformed) return Error::invalid("input", "header", problem);
    columns_ = record_.size();
    reset_scratch();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < columns_; ++i) {
      names.emplace_back(record_.cell(i, lines_.text(), scratch_));
    }
    for (const std::string& field : fields) {
      std::size_t found = columns_;
      for (std::size_t i = 0; i < columns_; ++i) {
        if (names[i] != field) continue;
        if (found < columns_) {
          return Error::invalid("field", field, "occurs twice in the header");
        }
        found = i;
      }
      if (found == columns_) return unknown_field(field, names);
      wanted_.push_back(found);
    }
    return {};
  }

  Outcome next(Row& row) override {
    const Outcome outcome = read_record(row.problem);
    row.line = lines_.line();
    if (outcome != Outcome::kRow) return outcome;
    if (record_.size() != columns_) {
      row.problem = "has " + std::to_string(record_.size()) + " fields, the header has " +
                    std::to_string(columns_);
      return Outcome::kMalformed;
    }
    reset_scratch();
    row.fields.clear();
    for (std::size_t column : wanted_) {
      row.fields.emplace_back(record_.cell(column, lines_.text(), scratch_));
    }
    return Outcome::kRow;
  }

  std::uint64_t position() const override { return lines_.position(); }

 private:
  static Error unknown_field(const std::string& field, const std::vector<std::string>& names) {
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    return Error::invalid("field", field, "is not in the header, which has: " + known);
  }

  // Cells are views into it, so it must not grow while they are in use: no record's cells are
  // longer together than the record, each wanted at most as often as there are fields.
  void reset_scratch() {
    scratch_.clear();
    scratch_.reserve(lines_.text().size() * (wanted_.size() + 1));
  }

  Outcome read_record(std::string& problem) {
    LineReader::Outcome outcome;
    do {
      outcome = lines_.next();
    } while (outcome == LineReader::Outcome::kLine && lines_.text().empty());
    if (auto none = without_line(outcome, lines_, problem)) return *none;
    record_.clear();
    while (true) {
      const CsvRecord::State state = record_.scan(lines_.text());
      if (state == CsvRecord::State::kComplete) return Outcome::kRow;
      if (state == CsvRecord::State::kBad) {
        problem = "has text after a closing quote";
        break;
      }
      outcome = lines_.extend();
      if (outcome == LineReader::Outcome::kLine) continue;
      if (outcome == LineReader::Outcome::kFailed) return *without_line(outcome, lines_, problem);
      problem = "has a quote that is never closed";
      break;
    }
    // A stray quote must not swallow the lines that follow it.
    lines_.keep_first_line();
    return Outcome::kMalformed;
  }

  LineReader lines_;
  CsvRecord record_;
  std::string scratch_;
  std::size_t columns_ = 0;
  std::vector<std::size_t> wanted_;
};

}  // namespace

Result<std::unique_ptr<RowReader>> make_csv_reader(ByteSource& source,
                                                   const std::vector<std::string>& fields) {
  auto reader = std::make_unique<CsvReader>(source);
  if (Status status = reader->read_header(fields); !status) return status.error();
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace stint::cli
