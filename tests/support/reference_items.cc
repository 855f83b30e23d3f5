#include "tests/support/reference_items.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace stint::test {

std::optional<std::vector<ReferenceStep>> reference_steps() {
  const char* given = std::getenv("STINT_SHARED");
  std::filesystem::path shared =
      given != nullptr ? std::filesystem::path(given)
                       : std::filesystem::path(STINT_SOURCE_DIR).parent_path() / "shared";
  if (!std::filesystem::is_directory(shared / "fixtures")) return std::nullopt;

  std::vector<ReferenceStep> steps;
  std::ifstream file(shared / "fixtures" / "reference-0.17-items.json");
  nlohmann::json document = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(document.is_array()) << "the file of reference items cannot be read";
  if (!document.is_array()) return steps;
  for (const nlohmann::json& entry : document) {
    ReferenceStep step;
    step.after = entry.at("after").get<std::string>();
    for (const nlohmann::json& item : entry.at("items")) {
      step.items.push_back(item_of(item.dump()));
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

store::ImagePtr item_of(std::string_view dynamo_json) {
  Result<store::ImagePtr> item = store::from_dynamo_json(dynamo_json);
  if (!item) {
    ADD_FAILURE() << item.error().message() << " in " << dynamo_json;
    return store::ImageBuilder(store::Key("unreadable", "unreadable")).build();
  }
  return *item;
}

std::string shown(const store::ImagePtr& item) { return store::to_dynamo_json(*item); }

}  // namespace stint::test
