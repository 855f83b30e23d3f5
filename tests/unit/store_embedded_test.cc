#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "store/embedded/item_table.h"
#include "store/embedded/key_codec.h"
#include "store/embedded/token_memory.h"
#include "tests/support/table.h"

namespace stint::store {
namespace {

ImagePtr item(const Key& key, std::int64_t n) {
  return ImageBuilder(key).set(intern("n"), n).build();
}

// Against a map, with few distinct homes so that runs collide, wrap around and are torn open.
RC_GTEST_PROP(ItemTable, AgreesWithAMap, ()) {
  ItemTable table;
  std::map<std::string, std::int64_t> model;
  int steps = *rc::gen::inRange(0, 200);
  for (int i = 0; i < steps; ++i) {
    std::string pk = "k" + std::to_string(*rc::gen::inRange(0, 40));
    std::uint64_t hash = hash_bytes(pk) % 5 + 12;
    ImagePtr* place = table.find(hash, pk, "s");
    RC_ASSERT((place != nullptr) == (model.count(pk) == 1));
    if (place && *rc::gen::arbitrary<bool>()) {
      table.erase(place);
      model.erase(pk);
    } else if (place) {
      *place = item(Key(pk, "s"), i);
      model[pk] = i;
    } else {
      table.insert(hash, item(Key(pk, "s"), i));
      model[pk] = i;
    }
    RC_ASSERT(table.size() == model.size());
  }
  for (const auto& [pk, n] : model) {
    ImagePtr* place = table.find(hash_bytes(pk) % 5 + 12, pk, "s");
    RC_ASSERT(place != nullptr);
    RC_ASSERT(*(*place)->number(intern("n")) == n);
  }
}

TEST(ItemTable, EvictsUntilEmpty) {
  ItemTable table;
  std::vector<Key> keys;
  for (int i = 0; i < 100; ++i) {
    keys.emplace_back("p" + std::to_string(i), "s");
    table.insert(keys.back().hash(), item(keys.back(), i));
  }
  for (std::size_t left = 100; left > 0; --left) {
    EXPECT_EQ(table.size(), left);
    std::size_t found = 0;
    for (const Key& key : keys) found += table.find(key) != nullptr ? 1 : 0;
    EXPECT_EQ(found, left);
    table.evict();
  }
  EXPECT_EQ(table.size(), 0u);
}

std::string few_bytes() {
  return *rc::gen::container<std::string>(
      rc::gen::element('\0', '\1', 'a', static_cast<char>(0xfe), static_cast<char>(0xff)));
}

RC_GTEST_PROP(KeyCodec, SortsLikeTheKeys, ()) {
  auto draw = [] {
    return EntryKey{"p" + few_bytes(), "s" + few_bytes(), "k" + few_bytes(), "r" + few_bytes()};
  };
  auto image = [](const EntryKey& key) {
    return ImageBuilder(Key(key.pk, key.sk))
        .set(index_pk(2), key.partition)
        .set(index_sk(2), key.sort)
        .build();
  };
  auto parts = [](const EntryKey& key) {
    return std::tie(key.partition, key.sort, key.pk, key.sk);
  };
  EntryKey a = draw();
  EntryKey b = draw();
  std::string entry_a = *encode_entry(*image(a), Index::kGsi2);
  std::string entry_b = *encode_entry(*image(b), Index::kGsi2);
  RC_ASSERT((entry_a <=> entry_b) == (parts(a) <=> parts(b)));
  RC_ASSERT(parts(*decode_entry(entry_a, Index::kGsi2)) == parts(a));
  RC_ASSERT(to_dynamo_json(*entry_image(a, Index::kGsi2)) == to_dynamo_json(*image(a)));

  std::string table_a = encode_table_entry(a.pk, a.sk);
  std::string table_b = encode_table_entry(b.pk, b.sk);
  RC_ASSERT((table_a <=> table_b) == (std::tie(a.pk, a.sk) <=> std::tie(b.pk, b.sk)));

  // A prefix finds exactly the sort keys that begin with it.
  std::string prefix = "s" + few_bytes();
  RC_ASSERT(entry_a.starts_with(encode_prefix(a.partition, prefix)) == a.sort.starts_with(prefix));
  RC_ASSERT(entry_a.starts_with(encode_prefix(b.partition, "")) == (a.partition == b.partition));
}

RC_GTEST_PROP(KeyCodec, ReaderStandsAnything, ()) {
  std::string bytes = few_bytes() + few_bytes();
  for (Index index : {Index::kTable, Index::kGsi1}) {
    if (std::optional<EntryKey> key = decode_entry(bytes, index)) {
      if (index == Index::kTable) RC_ASSERT(encode_table_entry(key->pk, key->sk) == bytes);
    }
  }
}

TEST(KeyCodec, SparseIndexes) {
  Key key("p", "s");
  EXPECT_FALSE(encode_entry(*ImageBuilder(key).build(), Index::kGsi1));
  EXPECT_FALSE(encode_entry(*ImageBuilder(key).set(index_pk(1), "x").build(), Index::kGsi1));
  EXPECT_FALSE(encode_entry(*ImageBuilder(key).set(index_sk(1), "x").build(), Index::kGsi1));
}

TEST(TokenMemory, ForgetsTheOldest) {
  TokenMemory memory(2);
  Fingerprint print{1, 2};
  Fingerprint other{1, 3};
  using Claim = TokenMemory::Claim;
  EXPECT_EQ(memory.claim("a", print), Claim::kNew);
  EXPECT_EQ(memory.claim("a", print), Claim::kApplied);
  EXPECT_EQ(memory.claim("a", other), Claim::kOther);
  EXPECT_EQ(memory.claim("b", print), Claim::kNew);
  EXPECT_EQ(memory.claim("c", print), Claim::kNew);
  EXPECT_EQ(memory.claim("b", print), Claim::kApplied);
  EXPECT_EQ(memory.claim("a", other), Claim::kNew) << "the oldest of three was forgotten";
  memory.forget("a");
  EXPECT_EQ(memory.claim("a", print), Claim::kNew);
}

TEST(Fingerprint, TellsTransactionsApart) {
  using test::number;
  using test::Op;
  using test::text;
  using test::when;
  Key key("p", "s");
  Key swapped("ps", "");
  UpdateProgram count = test::program({{Change::kAdd, intern("n"), number(0)}});
  UpdateProgram set = test::program({{Change::kSet, intern("n"), number(0)}});
  UpdateProgram word = test::program({{Change::kSet, intern("n"), text(0)}});
  UpdateProgram guarded =
      test::program({{Change::kAdd, intern("n"), number(0)}}, when({Op::kItemExists}));
  Condition exists = when({Op::kItemExists});
  Condition equal = when({Op::kEqual, intern("n"), number(0)});
  test::Values one{{1}, {"1"}};
  test::Values two{{2}, {"2"}};
  std::vector<std::vector<TransactItem>> transactions = {
      {UpdateRequest(key, count, one.params())},
      {UpdateRequest(key, count, two.params())},
      {UpdateRequest(key, set, one.params())},
      {UpdateRequest(key, word, one.params())},
      {UpdateRequest(key, guarded, one.params())},
      {UpdateRequest(swapped, count, one.params())},
      {DeleteRequest(key, nullptr)},
      {DeleteRequest(key, &exists)},
      {DeleteRequest(key, &equal, one.params())},
      {DeleteRequest(key, &equal, two.params())},
      {CheckRequest(key, exists)},
      {PutRequest(item(key, 1), nullptr)},
      {PutRequest(item(key, 2), nullptr)},
      {DeleteRequest(key, nullptr), DeleteRequest(swapped, nullptr)},
      {DeleteRequest(swapped, nullptr), DeleteRequest(key, nullptr)},
  };
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    for (std::size_t j = 0; j < transactions.size(); ++j) {
      EXPECT_EQ(fingerprint(TransactRequest(transactions[i], "x")) ==
                    fingerprint(TransactRequest(transactions[j], "y")),
                i == j)
          << i << " and " << j;
    }
  }
}

}  // namespace
}  // namespace stint::store
