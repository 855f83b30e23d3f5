#include "store/dynamodb/credentials/profile_files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "store/dynamodb/credentials/text_file.h"
#include "store/dynamodb/text.h"

namespace stint::store::dynamodb {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool begins_comment(char c) { return c == '#' || c == ';'; }

/// Without the comment that follows white space.
std::string_view without_comment(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (begins_comment(text[at]) && is_blank(text[at - 1])) return text.substr(0, at);
  }
  return text;
}

std::string unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
      text.back() == text.front()) {
    text = text.substr(1, text.size() - 2);
  }
  return std::string(text);
}

/// "dev" of "profile dev"; nothing if the first word is another or the only one.
std::optional<std::string> after_word(std::string_view text, std::string_view word) {
  if (!text.starts_with(word) || text.size() == word.size()) return std::nullopt;
  std::string_view rest = text.substr(word.size());
  if (!is_blank(rest.front()) && rest.front() != '"' && rest.front() != '\'') return std::nullopt;
  return unquoted(trimmed(rest));
}

class FileParser {
 public:
  FileParser(ProfileFileKind kind, std::string path) : kind_(kind), path_(std::move(path)) {}

  Result<ProfileSections> parse(std::string_view text) {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    while (!text.empty()) {
      ++line_;
      std::size_t end = std::min(text.find('\n'), text.size());
      if (Status status = take_line(text.substr(0, end)); !status) return status.error();
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    // "[profile default]" is the better name of the two, and the only one that counts then.
    if (has_short_default_ && !has_long_default_) {
      sections_.profiles["default"] = std::move(default_);
    }
    return std::move(sections_);
  }

 private:
  Error wrong(const std::string& what) const {
    return Error(ErrorCode::kInvalidArgument,
                 "line " + std::to_string(line_) + " of " + path_ + " " + what);
  }

  Status take_line(std::string_view line) {
    std::string_view content = trimmed(line);
    if (content.empty() || begins_comment(content.front())) return Status();
    if (content.front() == '[' && !is_blank(line.front())) return take_header(content);
    if (!begun_) return wrong("stands before the first [section]");
    if (section_ == nullptr) return Status();
    if (is_blank(line.front()) && property_ != nullptr) return take_continuation(line);
    return take_property(line);
  }

  Status take_header(std::string_view content) {
    std::size_t close = content.find(']');
    if (close == std::string_view::npos) return wrong("has a \"[\" without \"]\"");
    std::string_view rest = trimmed(content.substr(close + 1));
    if (!rest.empty() && !begins_comment(rest.front())) return wrong("goes on after the \"]\"");
    begun_ = true;
    property_ = nullptr;
    section_ = section(trimmed(content.substr(1, close - 1)));
    return Status();
  }

  /// Where the properties of that section go. Null: they are of no interest.
  ProfileSection* section(std::string_view header) {
    std::optional<std::string> profile = after_word(header, "profile");
    if (kind_ == ProfileFileKind::kCredentials) {
      if (!profile) return &sections_.profiles[unquoted(header)];
      sections_.misnamed.push_back(*profile);
      return nullptr;
    }
    if (profile) {
      has_long_default_ = has_long_default_ || *profile == "default";
      return &sections_.profiles[*profile];
    }
    if (header == "default") {
      has_short_default_ = true;
      return &default_;
    }
    if (std::optional<std::string> name = after_word(header, "services")) {
      return &sections_.services[*name];
    }
    sections_.misnamed.push_back(unquoted(header));
    return nullptr;
  }

  Status take_property(std::string_view line) {
    std::size_t equals = line.find('=');
    std::string name = lower_case(trimmed(line.substr(0, std::min(equals, line.size()))));
    if (equals == std::string_view::npos || name.empty()) return not_an_assignment();
    ProfileProperty property;
    property.value = trimmed(without_comment(line.substr(equals + 1)));
    property.file = path_;
    property_ = &(section_->properties[name] = std::move(property));
    has_value_ = !property_->value.empty();
    return Status();
  }

  Status take_continuation(std::string_view line) {
    std::string_view content = trimmed(without_comment(line));
    if (has_value_) {
      property_->value.append("\n").append(content);
      return Status();
    }
    std::size_t equals = content.find('=');
    std::string name = lower_case(trimmed(content.substr(0, std::min(equals, content.size()))));
    if (equals == std::string_view::npos || name.empty()) return not_an_assignment();
    property_->nested[name] = trimmed(content.substr(equals + 1));
    return Status();
  }

  Error not_an_assignment() const { return wrong("is neither [section] nor name = value"); }

  const ProfileFileKind kind_;
  const std::string path_;
  int line_ = 0;
  ProfileSections sections_;
  ProfileSection default_;  ///< "[default]" of `config`.
  bool has_short_default_ = false;
  bool has_long_default_ = false;
  bool begun_ = false;                   ///< Whether a section has begun.
  ProfileSection* section_ = nullptr;    ///< Where properties go.
  ProfileProperty* property_ = nullptr;  ///< What indented lines go on with.
  bool has_value_ = false;               ///< Whether that has a value on its own line.
};

/// The path that a variable names, else the one in the home directory; empty if there is none.
std::string file_path(const Surroundings& surroundings, const std::string& variable,
                      const std::string& name) {
  std::string home = surroundings.variable("HOME");
  std::string path = surroundings.variable(variable);
  if (path.starts_with("~/") && !home.empty()) return home + path.substr(1);
  if (!path.empty()) return path;
  return home.empty() ? "" : home + "/.aws/" + name;
}

/// Puts what `credentials` says over what `config` says.
void merge(ProfileSections& config, ProfileSections credentials) {
  for (auto& [name, section] : credentials.profiles) {
    ProfileSection& merged = config.profiles[name];
    // Keys belong together: the token of one pair would spoil another.
    if (section.find("aws_access_key_id") != nullptr) {
      for (const char* part : {"aws_access_key_id", "aws_secret_access_key", "aws_session_token"}) {
        merged.properties.erase(part);
      }
    }
    for (auto& [key, property] : section.properties) merged.properties[key] = std::move(property);
  }
  config.misnamed.insert(config.misnamed.end(), credentials.misnamed.begin(),
                         credentials.misnamed.end());
}

std::string listed(const std::vector<std::string>& words, const char* joint) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += joint;
    text += word;
  }
  return text;
}

}  // namespace

const ProfileProperty* ProfileSection::find(std::string_view name) const {
  auto found = properties.find(name);
  return found == properties.end() ? nullptr : &found->second;
}

std::string ProfileSection::value(std::string_view name) const {
  const ProfileProperty* property = find(name);
  return property == nullptr ? "" : property->value;
}

Result<ProfileSections> parse_profile_file(std::string_view text, ProfileFileKind kind,
                                           const std::string& path) {
  return FileParser(kind, path).parse(text);
}

Result<ProfileFiles> ProfileFiles::load(const Surroundings& surroundings) {
  struct File {
    const char* variable;
    const char* name;
    ProfileFileKind kind;
  };
  ProfileFiles files;
  for (const File& file :
       {File{"AWS_CONFIG_FILE", "config", ProfileFileKind::kConfig},
        File{"AWS_SHARED_CREDENTIALS_FILE", "credentials", ProfileFileKind::kCredentials}}) {
    std::string path = file_path(surroundings, file.variable, file.name);
    if (path.empty()) continue;
    Result<std::string> text = read_text_file(path, kMaxFileBytes);
    if (!text && text.error().code() == ErrorCode::kNotFound) {
      files.missing_.push_back(path);
      continue;
    }
    if (!text && text.error().code() == ErrorCode::kUnavailable) return text.error();
    if (!text) return Error(ErrorCode::kInvalidArgument, text.error().reason());
    files.read_.push_back(path);
    Result<ProfileSections> sections = parse_profile_file(*text, file.kind, path);
    if (!sections) return sections.error();
    if (file.kind == ProfileFileKind::kConfig) {
      files.sections_ = std::move(*sections);
    } else {
      merge(files.sections_, std::move(*sections));
    }
  }
  return files;
}

const ProfileSection* ProfileFiles::profile(std::string_view name) const {
  auto found = sections_.profiles.find(name);
  return found == sections_.profiles.end() ? nullptr : &found->second;
}

const ProfileSection* ProfileFiles::services(std::string_view name) const {
  auto found = sections_.services.find(name);
  return found == sections_.services.end() ? nullptr : &found->second;
}

std::string ProfileFiles::why_missing(std::string_view name) const {
  if (read_.empty() && missing_.empty()) {
    return "HOME is not set, so that it is not known where the files are";
  }
  if (read_.empty()) {
    return missing_.size() == 1 ? missing_.front() + " does not exist"
                                : "neither " + listed(missing_, " nor ") + " exists";
  }
  std::string text = "there is no such profile in " + listed(read_, " and ");
  bool misnamed = std::find(sections_.misnamed.begin(), sections_.misnamed.end(), name) !=
                  sections_.misnamed.end();
  if (misnamed) {
    text +=
        ", only a section named otherwise: it is [profile NAME] in the file config, and [NAME] in "
        "the file credentials";
  } else if (!missing_.empty()) {
    text += "; " + missing_.front() + " does not exist";
  }
  return text;
}

std::string profile_name(const Surroundings& surroundings, std::string_view asked) {
  if (!asked.empty()) return std::string(asked);
  std::string named = surroundings.variable("AWS_PROFILE");
  return named.empty() ? "default" : named;
}

bool is_profile_asked_for(const Surroundings& surroundings, std::string_view asked) {
  return !asked.empty() || !surroundings.variable("AWS_PROFILE").empty();
}

}  // namespace stint::store::dynamodb
