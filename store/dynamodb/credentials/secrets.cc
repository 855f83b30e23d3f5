#include "store/dynamodb/credentials/secrets.h"

#include <algorithm>

namespace stint::store::dynamodb {
namespace {

// What is shorter keeps nobody out, and hiding it would make holes in every message.
constexpr std::size_t kShortestSecret = 8;
constexpr std::size_t kLongestQuote = 300;
constexpr std::string_view kMark = "[hidden]";

}  // namespace

void Secrets::add(std::string_view secret) {
  if (secret.size() < kShortestSecret) return;
  if (std::find(all_.begin(), all_.end(), secret) != all_.end()) return;
  auto longer = [&](const std::string& other) { return other.size() >= secret.size(); };
  all_.emplace(std::find_if_not(all_.begin(), all_.end(), longer), secret);
}

std::string Secrets::hidden(std::string text) const {
  for (const std::string& secret : all_) {
    for (std::size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + kMark.size())) {
      text.replace(at, secret.size(), kMark);
    }
  }
  return text;
}

std::string Secrets::quotable(std::string_view text) const {
  // Secrets first: a cut could leave half of one.
  std::string line = hidden(std::string(text));
  line.resize(std::min(line.find_first_of("\r\n"), line.size()));
  line.resize(std::min(line.size(), kLongestQuote));
  for (char& c : line) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) c = '?';
  }
  return line;
}

}  // namespace stint::store::dynamodb
