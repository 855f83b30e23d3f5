#include "store/dynamodb/credentials/location.h"

#include <utility>

#include "store/dynamodb/text.h"
#include "store/dynamodb/url.h"

namespace stint::store::dynamodb {
namespace {

Result<std::string> checked_region(std::string region, std::string field) {
  if (is_region_name(region)) return region;
  return Error::invalid(std::move(field), region,
                        "a region is a name of letters, digits and \"-\", such as eu-west-1");
}

/// `place` says where the address stands; the address itself may hold a password.
Result<std::string> checked_endpoint(const std::string& endpoint, const std::string& place) {
  Result<Url> url = parse_endpoint(endpoint);
  if (!url) {
    return Error(ErrorCode::kInvalidArgument,
                 "the address in " + place + " is not usable: " + url.error().reason());
  }
  return url->base();
}

std::string upper_case(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

}  // namespace

Result<std::string> configured_region(const Surroundings& surroundings,
                                      const ProfileSection* profile) {
  for (const char* variable : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    std::string region = surroundings.variable(variable);
    if (!region.empty()) return checked_region(std::move(region), variable);
  }
  std::string region = profile == nullptr ? "" : profile->value("region");
  if (region.empty()) return region;
  return checked_region(std::move(region), "region of the profile");
}

Result<std::string> configured_endpoint(const Surroundings& surroundings, const ProfileFiles& files,
                                        const ProfileSection* profile, std::string_view service) {
  if (is_true(surroundings.variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"))) return std::string();
  if (profile != nullptr && is_true(profile->value("ignore_configured_endpoint_urls"))) {
    return std::string();
  }
  for (const std::string& variable :
       {"AWS_ENDPOINT_URL_" + upper_case(service), std::string("AWS_ENDPOINT_URL")}) {
    std::string endpoint = surroundings.variable(variable);
    if (!endpoint.empty()) return checked_endpoint(endpoint, variable);
  }
  if (profile == nullptr) return std::string();
  if (const ProfileProperty* named = profile->find("services")) {
    const ProfileSection* services = files.services(named->value);
    if (services == nullptr) {
      return Error(ErrorCode::kInvalidArgument, "the profile's section [services " + named->value +
                                                    "] does not exist in " + named->file);
    }
    if (const ProfileProperty* own = services->find(service)) {
      auto found = own->nested.find("endpoint_url");
      if (found != own->nested.end() && !found->second.empty()) {
        return checked_endpoint(found->second, "section [services " + named->value + "]");
      }
    }
  }
  std::string endpoint = profile->value("endpoint_url");
  if (endpoint.empty()) return endpoint;
  return checked_endpoint(endpoint, "endpoint_url of the profile");
}

Result<Location> standard_location(const Surroundings& surroundings, std::string_view profile) {
  Result<ProfileFiles> files = ProfileFiles::load(surroundings);
  if (!files) return files.error();
  std::string name = profile_name(surroundings, profile);
  const ProfileSection* section = files->profile(name);
  if (section == nullptr && is_profile_asked_for(surroundings, profile)) {
    return Error::invalid("profile", name, files->why_missing(name));
  }
  Result<std::string> region = configured_region(surroundings, section);
  if (!region) return region.error();
  Result<std::string> endpoint = configured_endpoint(surroundings, *files, section, "dynamodb");
  if (!endpoint) return endpoint.error();
  return Location{std::move(*region), std::move(*endpoint)};
}

}  // namespace stint::store::dynamodb
