// What must not be seen.
#ifndef STINT_STORE_DYNAMODB_CREDENTIALS_SECRETS_H_
#define STINT_STORE_DYNAMODB_CREDENTIALS_SECRETS_H_

#include <string>
#include <string_view>
#include <vector>

namespace stint::store::dynamodb {

/// The secrets that came up during one fetch. Messages of others (a server, a library) are shown
/// only after all of them were taken out; our own are written so that none gets in.
class Secrets {
 public:
  void add(std::string_view secret);
  /// `text` with "[hidden]" in place of each secret.
  std::string hidden(std::string text) const;
  /// The first line of what another program said: at most 300 printable characters, no secrets.
  std::string quotable(std::string_view text) const;

 private:
  std::vector<std::string> all_;  ///< Longest first, as one may be part of another.
};

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CREDENTIALS_SECRETS_H_
