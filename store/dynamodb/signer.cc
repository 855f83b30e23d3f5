#include "store/dynamodb/signer.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "store/dynamodb/text.h"
#include "store/dynamodb/url.h"

namespace stint::store::dynamodb {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kScopeEnd = "aws4_request";

using Digest = std::array<unsigned char, 32>;

std::string hex(const Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(2 * digest.size(), '0');
  for (std::size_t i = 0; i < digest.size(); ++i) {
    text[2 * i] = kDigits[digest[i] >> 4];
    text[2 * i + 1] = kDigits[digest[i] & 15];
  }
  return text;
}

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

bool hmac(const void* key, std::size_t key_bytes, std::string_view data, Digest& out) {
  unsigned int length = 0;
  return HMAC(EVP_sha256(), key, static_cast<int>(key_bytes), bytes(data), data.size(), out.data(),
              &length) != nullptr &&
         length == out.size();
}

/// Null if the library has no such algorithm.
EVP_MAC_CTX* new_context() {
  EVP_MAC* algorithm = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  EVP_MAC_CTX* context = algorithm == nullptr ? nullptr : EVP_MAC_CTX_new(algorithm);
  EVP_MAC_free(algorithm);  // The context keeps it.
  return context;
}

void append_digits(std::string& text, unsigned value, int width) {
  std::size_t start = text.size();
  text.append(static_cast<std::size_t>(width), '0');
  for (std::size_t at = text.size(); at > start; value /= 10) {
    text[--at] = static_cast<char>('0' + value % 10);
  }
}

/// "20150830T123600Z"
std::string compact_time(TimePoint now) {
  auto day = std::chrono::floor<std::chrono::days>(now);
  std::chrono::year_month_day date(day);
  std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(now - day));
  std::string text;
  text.reserve(16);
  append_digits(text, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  append_digits(text, static_cast<unsigned>(date.month()), 2);
  append_digits(text, static_cast<unsigned>(date.day()), 2);
  text += 'T';
  append_digits(text, static_cast<unsigned>(time.hours().count()), 2);
  append_digits(text, static_cast<unsigned>(time.minutes().count()), 2);
  append_digits(text, static_cast<unsigned>(time.seconds().count()), 2);
  text += 'Z';
  return text;
}

bool is_white(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Without white space at the ends, and with one blank for each run of it inside.
std::string collapsed(std::string_view value) {
  std::string text;
  text.reserve(value.size());
  bool gap = false;
  for (char c : value) {
    if (is_white(c)) {
      gap = !text.empty();
      continue;
    }
    if (gap) text += ' ';
    gap = false;
    text += c;
  }
  return text;
}

/// Without ".", ".." and empty segments: the service takes them out before it compares.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  for (std::size_t at = 0; at < path.size();) {
    std::size_t end = std::min(path.find('/', at), path.size());
    std::string_view segment = path.substr(at, end - at);
    if (segment == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (!segment.empty() && segment != ".") {
      kept.push_back(segment);
    }
    at = end + 1;
  }
  std::string text;
  for (std::string_view segment : kept) text.append("/").append(segment);
  if (text.empty() || path.back() == '/') text += '/';
  return text;
}

/// The pairs sorted by name and then value; one without "=" has an empty value.
std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  for (std::size_t at = 0; at < query.size();) {
    std::size_t end = std::min(query.find('&', at), query.size());
    std::string_view pair = query.substr(at, end - at);
    std::size_t equals = std::min(pair.find('='), pair.size());
    std::string_view value = equals < pair.size() ? pair.substr(equals + 1) : std::string_view();
    if (!pair.empty()) pairs.emplace_back(pair.substr(0, equals), value);
    at = end + 1;
  }
  std::sort(pairs.begin(), pairs.end());
  std::string text;
  text.reserve(query.size() + pairs.size());
  for (const auto& pair : pairs) {
    if (!text.empty()) text += '&';
    text.append(pair.first).append("=").append(pair.second);
  }
  return text;
}

/// Headers as they are signed: sorted by name, those of one name merged in their order.
std::vector<HttpHeader> canonical_headers(std::span<const HttpHeader> headers,
                                          const std::vector<HttpHeader>& added) {
  std::vector<HttpHeader> all;
  all.reserve(headers.size() + added.size());
  auto take = [&all](const HttpHeader& header) {
    all.push_back({lower_case(header.name), collapsed(header.value)});
  };
  std::for_each(headers.begin(), headers.end(), take);
  std::for_each(added.begin(), added.end(), take);
  std::stable_sort(all.begin(), all.end(),
                   [](const HttpHeader& a, const HttpHeader& b) { return a.name < b.name; });
  std::size_t kept = 0;
  for (std::size_t at = 1; at < all.size(); ++at) {
    if (all[at].name == all[kept].name) {
      all[kept].value.append(",").append(all[at].value);
    } else if (++kept != at) {
      all[kept] = std::move(all[at]);
    }
  }
  if (!all.empty()) all.resize(kept + 1);
  return all;
}

}  // namespace

class Signer::Impl {
 public:
  Impl(std::string region, std::string service)
      : region_(std::move(region)),
        service_(std::move(service)),
        // Looked up once: each look-up costs more than the digest of a small request.
        sha256_(EVP_MD_fetch(nullptr, "SHA256", nullptr), &EVP_MD_free),
        context_(new_context(), &EVP_MAC_CTX_free) {}
  ~Impl() { OPENSSL_cleanse(secret_.data(), secret_.size()); }

  std::vector<HttpHeader> sign(const SignedParts& parts, const Credentials& credentials,
                               TimePoint now) const {
    std::string time = compact_time(now);
    std::vector<HttpHeader> added;
    added.reserve(3);
    added.push_back({"x-amz-date", time});
    if (!credentials.session_token.empty()) {
      added.push_back({"x-amz-security-token", credentials.session_token});
    }
    std::vector<HttpHeader> headers = canonical_headers(parts.headers, added);
    std::string names;
    for (const HttpHeader& header : headers) {
      if (!names.empty()) names += ';';
      names += header.name;
    }

    std::string date = time.substr(0, 8);
    std::string scope = date;
    scope.append("/").append(region_).append("/").append(service_).append("/").append(kScopeEnd);
    std::optional<std::string> request = canonical_request(parts, headers, names);
    if (!request) return added;
    std::string text(kAlgorithm);
    text.append("\n").append(time).append("\n").append(scope).append("\n").append(*request);
    Digest signature;
    if (!sign_with_key_of_day(date, credentials.secret_access_key, text, signature)) return added;

    std::string authorization(kAlgorithm);
    authorization.append(" Credential=").append(credentials.access_key_id);
    authorization.append("/").append(scope).append(", SignedHeaders=").append(names);
    authorization.append(", Signature=").append(hex(signature));
    added.push_back({"authorization", std::move(authorization)});
    return added;
  }

 private:
  std::optional<std::string> digest(std::string_view data) const {
    Digest out;
    unsigned int length = 0;
    if (sha256_ == nullptr ||
        EVP_Digest(data.data(), data.size(), out.data(), &length, sha256_.get(), nullptr) != 1) {
      return std::nullopt;
    }
    return hex(out);
  }

  /// The digest of the request in its canonical form. Absent: the library failed.
  std::optional<std::string> canonical_request(const SignedParts& parts,
                                               const std::vector<HttpHeader>& headers,
                                               const std::string& names) const {
    std::string text(parts.method);
    text += '\n';
    // This one service takes paths as they are; all others encode what is on the wire once more.
    if (service_ == "s3") {
      text += parts.path.empty() ? "/" : parts.path;
    } else {
      text += percent_encoded(without_dots(parts.path), "/");
    }
    text.append("\n").append(canonical_query(parts.query)).append("\n");
    const std::string* stated = nullptr;
    for (const HttpHeader& header : headers) {
      text.append(header.name).append(":").append(header.value).append("\n");
      if (header.name == "x-amz-content-sha256") stated = &header.value;
    }
    text.append("\n").append(names).append("\n");
    // What the request itself says of its body is what the service puts there.
    std::optional<std::string> body = stated != nullptr ? *stated : digest(parts.body);
    if (!body) return std::nullopt;
    return digest(text.append(*body));
  }

  bool sign_with_key_of_day(const std::string& date, const std::string& secret,
                            std::string_view text, Digest& signature) const {
    std::lock_guard lock(mutex_);
    if (!has_key_ || date_ != date || secret_ != secret) {
      has_key_ = prepare_key(date, secret);
      date_ = date;
      secret_ = secret;
    }
    std::size_t length = 0;
    // Begun anew with the key it has, a context costs a fifth of one that is set up each time.
    return has_key_ && EVP_MAC_init(context_.get(), nullptr, 0, nullptr) == 1 &&
           EVP_MAC_update(context_.get(), bytes(text), text.size()) == 1 &&
           EVP_MAC_final(context_.get(), signature.data(), &length, signature.size()) == 1 &&
           length == signature.size();
  }

  /// Gives the context the key of that day.
  bool prepare_key(const std::string& date, const std::string& secret) const {
    if (context_ == nullptr) return false;
    std::string start = "AWS4" + secret;
    Digest key;
    bool made =
        hmac(start.data(), start.size(), date, key) && hmac(key.data(), key.size(), region_, key) &&
        hmac(key.data(), key.size(), service_, key) && hmac(key.data(), key.size(), kScopeEnd, key);
    char digest_name[] = "SHA256";
    const OSSL_PARAM settings[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest_name, 0),
        OSSL_PARAM_construct_end()};
    made = made && EVP_MAC_init(context_.get(), key.data(), key.size(), settings) == 1;
    OPENSSL_cleanse(start.data(), start.size());
    OPENSSL_cleanse(key.data(), key.size());
    return made;
  }

  const std::string region_;
  const std::string service_;
  const std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)> sha256_;
  mutable std::mutex mutex_;
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context_;
  mutable bool has_key_ = false;  ///< Whether the context has the key of what follows.
  mutable std::string date_;
  mutable std::string secret_;
};

Signer::Signer(std::string region, std::string service)
    : impl_(std::make_unique<Impl>(std::move(region), std::move(service))) {}

Signer::~Signer() = default;

std::vector<HttpHeader> Signer::sign(const SignedParts& parts, const Credentials& credentials,
                                     TimePoint now) const {
  return impl_->sign(parts, credentials, now);
}

}  // namespace stint::store::dynamodb
