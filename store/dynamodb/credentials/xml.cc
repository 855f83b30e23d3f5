#include "store/dynamodb/credentials/xml.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace stint::store::dynamodb {
namespace {

constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxElements = 1'000;
constexpr std::size_t kMaxNameBytes = 128;
constexpr std::string_view kWhite = " \t\r\n";

bool is_name_character(char c) {
  auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ':' || byte >= 0x80;
}

void append_utf8(std::string& text, std::uint32_t code) {
  auto put = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

/// Appends what "&name;" stands for.
bool append_entity(std::string& text, std::string_view name) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& named : kNamed) {
    if (name == named.first) {
      text += named.second;
      return true;
    }
  }
  if (!name.starts_with('#')) return false;
  name.remove_prefix(1);
  int base = 10;
  if (name.starts_with('x')) {
    name.remove_prefix(1);
    base = 16;
  }
  std::uint32_t code = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), code, base);
  bool valid = error == std::errc() && end == name.data() + name.size() && code != 0 &&
               code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  if (valid) append_utf8(text, code);
  return valid;
}

/// Reads forward through a document.
class Reader {
 public:
  explicit Reader(std::string_view document) : rest_(document) {}

  bool at_end() const { return rest_.empty(); }
  bool at(std::string_view text) const { return rest_.starts_with(text); }
  bool skip(std::string_view text) {
    if (!at(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void skip_white() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kWhite), rest_.size()));
  }
  /// What comes before `end`, and passes over both.
  std::optional<std::string_view> until(std::string_view end) {
    std::size_t position = rest_.find(end);
    if (position == std::string_view::npos) return std::nullopt;
    std::string_view text = rest_.substr(0, position);
    rest_.remove_prefix(position + end.size());
    return text;
  }
  std::string_view name() {
    auto end = std::find_if_not(rest_.begin(), rest_.end(), is_name_character);
    std::string_view text = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(text.size());
    return text;
  }
  char next() {
    char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  /// Passes over ` name="value"` as often as it comes.
  bool skip_attributes() {
    for (;;) {
      std::size_t before = rest_.size();
      skip_white();
      if (at(">") || at("/>")) return true;
      if (rest_.size() == before || name().empty()) return false;
      skip_white();
      if (!skip("=")) return false;
      skip_white();
      if (!at("\"") && !at("'")) return false;
      std::string quote(1, next());
      std::optional<std::string_view> value = until(quote);
      if (!value || value->find('<') != std::string_view::npos) return false;
    }
  }

 private:
  std::string_view rest_;
};

Error malformed(std::string reason) { return Error(ErrorCode::kCorrupt, std::move(reason)); }

}  // namespace

Result<XmlTexts> XmlTexts::parse(std::string_view document) {
  const Error broken = malformed("is no well-formed XML");
  XmlTexts result;
  std::vector<std::size_t> open;  // Places in `texts_`.
  Reader reader(document);
  reader.skip("\xef\xbb\xbf");
  while (!reader.at_end()) {
    if (reader.skip("<?")) {
      if (!reader.until("?>")) return broken;
    } else if (reader.skip("<!--")) {
      if (!reader.until("-->")) return broken;
    } else if (reader.skip("<![CDATA[")) {
      std::optional<std::string_view> text = reader.until("]]>");
      if (!text || open.empty()) return broken;
      result.texts_[open.back()].text += *text;
    } else if (reader.at("<!")) {
      return malformed("is XML with a document type");
    } else if (reader.skip("</")) {
      std::string_view name = reader.name();
      reader.skip_white();
      if (open.empty() || !reader.skip(">")) return broken;
      std::string_view path = result.texts_[open.back()].path;
      if (name != path.substr(path.rfind('/') + 1)) return broken;
      open.pop_back();
    } else if (reader.skip("<")) {
      std::string_view name = reader.name();
      if (name.empty() || !reader.skip_attributes()) return broken;
      if (open.empty() && !result.texts_.empty()) return broken;
      if (open.size() == kMaxDepth || result.texts_.size() == kMaxElements ||
          name.size() > kMaxNameBytes) {
        return malformed("is XML with too many levels, elements or letters in a name");
      }
      std::string path = open.empty() ? "" : result.texts_[open.back()].path + "/";
      open.push_back(result.texts_.size());
      result.texts_.push_back({path.append(name), ""});
      if (reader.skip("/>")) {
        open.pop_back();
      } else if (!reader.skip(">")) {
        return broken;
      }
    } else if (open.empty()) {
      if (kWhite.find(reader.next()) == std::string_view::npos) return broken;
    } else if (reader.skip("&")) {
      std::optional<std::string_view> name = reader.until(";");
      if (!name || !append_entity(result.texts_[open.back()].text, *name)) return broken;
    } else {
      result.texts_[open.back()].text += reader.next();
    }
  }
  if (!open.empty() || result.texts_.empty()) return broken;
  return result;
}

const std::string* XmlTexts::find(std::string_view path) const {
  for (const Text& text : texts_) {
    if (text.path == path) return &text.text;
  }
  return nullptr;
}

}  // namespace stint::store::dynamodb
