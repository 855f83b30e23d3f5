// The files `config` and `credentials` of the service's tools.
#ifndef STINT_STORE_DYNAMODB_CREDENTIALS_PROFILE_FILES_H_
#define STINT_STORE_DYNAMODB_CREDENTIALS_PROFILE_FILES_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stint/result.h"
#include "store/dynamodb/credentials.h"

namespace stint::store::dynamodb {

/// One `name = value` of a section.
struct ProfileProperty {
  std::string value;
  /// The indented `name = value` below a property without a value of its own.
  std::map<std::string, std::string, std::less<>> nested;
  std::string file;  ///< Where it stands.
};

/// What a section says. Names of properties are in lower case.
struct ProfileSection {
  std::map<std::string, ProfileProperty, std::less<>> properties;

  const ProfileProperty* find(std::string_view name) const;
  /// The value, or empty.
  std::string value(std::string_view name) const;
};

enum class ProfileFileKind {
  kConfig,       ///< "[profile dev]", "[default]", "[services local]"
  kCredentials,  ///< "[dev]", "[default]"
};

/// The sections of one or both files by their names.
struct ProfileSections {
  std::map<std::string, ProfileSection, std::less<>> profiles;
  std::map<std::string, ProfileSection, std::less<>> services;
  /// Sections named as profiles are in the other kind of file: "[dev]" in `config`.
  std::vector<std::string> misnamed;
};

/// Reads the text of one file. Lines that begin with "#" or ";" are comments, and so is what
/// follows one of them after white space. An indented line goes on with the property above it. A
/// section that comes twice counts as one, and of properties that come twice the last counts.
/// Other kinds of sections are ignored. Errors: `kInvalidArgument`, which names file and line and
/// shows nothing of the line, since it may be a secret.
Result<ProfileSections> parse_profile_file(std::string_view text, ProfileFileKind kind,
                                           const std::string& path);

/// Both files of these surroundings. Immutable once loaded.
class ProfileFiles {
 public:
  /// Reads the files that AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE name, else those in
  /// $HOME/.aws. A file that does not exist counts as empty. Blocks on the file system. Errors:
  /// `kInvalidArgument` for a file that cannot be read or parsed; `kUnavailable` when the machine
  /// is short of what reading it takes.
  static Result<ProfileFiles> load(const Surroundings& surroundings);

  /// Null where there is none. What `credentials` says of a profile goes before what `config` says.
  const ProfileSection* profile(std::string_view name) const;
  const ProfileSection* services(std::string_view name) const;

  /// Why `profile(name)` is null, for people.
  std::string why_missing(std::string_view name) const;

 private:
  ProfileSections sections_;
  std::vector<std::string> read_;     ///< Files that exist.
  std::vector<std::string> missing_;  ///< Those that do not.
};

/// The profile to use: `asked`, else AWS_PROFILE, else "default".
std::string profile_name(const Surroundings& surroundings, std::string_view asked);
/// Whether somebody asked for that profile, so that it has to exist.
bool is_profile_asked_for(const Surroundings& surroundings, std::string_view asked);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CREDENTIALS_PROFILE_FILES_H_
