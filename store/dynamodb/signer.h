// Signature version 4 of the service's requests.
#ifndef STINT_STORE_DYNAMODB_SIGNER_H_
#define STINT_STORE_DYNAMODB_SIGNER_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stint/time.h"
#include "store/dynamodb/credentials.h"
#include "store/dynamodb/http.h"

namespace stint::store::dynamodb {

/// What is signed. Views must live during the call only.
struct SignedParts {
  std::string_view method;
  std::string_view path;   ///< As it goes over the wire, from the first "/"; empty counts as "/".
  std::string_view query;  ///< Without "?"; pairs already percent-encoded as on the wire.
  /// All headers that are to be signed, "host" among them, neither "x-amz-date" nor
  /// "x-amz-security-token". Names in any case and order.
  std::span<const HttpHeader> headers;
  std::string_view body;
};

/// Computes signatures for one region and service. A pure function of its arguments but for the
/// key of the day, which is remembered. Thread-safe.
class Signer {
 public:
  Signer(std::string region, std::string service);
  ~Signer();
  Signer(const Signer&) = delete;
  Signer& operator=(const Signer&) = delete;

  /// The headers to add: "x-amz-date", "x-amz-security-token" if there is one, "authorization". The
  /// path is normalised and encoded once more, as all services but s3 want it; a header
  /// "x-amz-content-sha256" among those signed stands for the body. Without "authorization", which
  /// the service refuses, should the library of digests fail. A few microseconds.
  std::vector<HttpHeader> sign(const SignedParts& parts, const Credentials& credentials,
                               TimePoint now) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_SIGNER_H_
