// The little of XML that the token service's answers need.
#ifndef STINT_STORE_DYNAMODB_CREDENTIALS_XML_H_
#define STINT_STORE_DYNAMODB_CREDENTIALS_XML_H_

#include <string>
#include <string_view>
#include <vector>

#include "stint/result.h"

namespace stint::store::dynamodb {

/// The texts of a document by the path of their elements.
class XmlTexts {
 public:
  /// Reads a whole document. Attributes, comments and processing instructions are passed over.
  /// Errors: `kCorrupt` for what is not well formed, a document type (whose entities could be
  /// anything), elements beside the root, more than 32 levels or 1,000 elements. Reasons show
  /// nothing of it.
  static Result<XmlTexts> parse(std::string_view document);

  /// The text of the first element at a path such as "Response/Result/Key": what stands directly
  /// in it, entities replaced. Null where there is none.
  const std::string* find(std::string_view path) const;

 private:
  struct Text {
    std::string path;
    std::string text;
  };
  std::vector<Text> texts_;
};

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CREDENTIALS_XML_H_
