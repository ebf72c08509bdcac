// SPDX-License-Identifier: Apache-2.0
// dlcore/dlpack.h: elements that other libraries see, and theirs.
#include "../../core/io/dlpack_types.h"
#include "support.h"

namespace dlcore::test {
namespace {

class DlpackTest : public ApiTest {
 protected:
  dlpack::Versioned* give(dlcore_tensor* t, uint64_t flags = 0) {
    uint64_t address = 0;
    dlcore_tensor_to_dlpack(ctx_, t, flags, &address);
    return reinterpret_cast<dlpack::Versioned*>(address);
  }
  dlcore_tensor* take(void* managed, uint64_t flags = 0) {
    return dlcore_tensor_from_dlpack(ctx_, reinterpret_cast<uintptr_t>(managed), flags);
  }
  static void end(dlpack::Versioned* managed) { managed->deleter(managed); }
};

// Another library's.
struct Foreign {
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  float elements[6] = {0, 1, 2, 3, 4, 5};
  int deleted = 0;
  dlpack::Versioned managed{};
  dlpack::Unversioned old{};
  Foreign() {
    managed.version = {1, 0};
    managed.array = {elements, {dlpack::kCpu, 0}, 2, {2, 32, 1}, shape, strides, 0};
    managed.manager = old.manager = this;
    managed.deleter = [](dlpack::Versioned* m) { ++static_cast<Foreign*>(m->manager)->deleted; };
    old.array = managed.array;
    old.deleter = [](dlpack::Unversioned* m) { ++static_cast<Foreign*>(m->manager)->deleted; };
  }
};

TEST_F(DlpackTest, EveryDtypeThereAndBack) {
  for (int32_t dtype = DLCORE_BOOL; dtype <= DLCORE_F64; ++dtype) {
    dlcore_tensor* t = tensor(dtype, {3, 40}, Doubles(120, 1));
    dlpack::Versioned* managed = give(t);
    ASSERT_NE(managed, nullptr) << dlcore_context_error_message(ctx_);
    EXPECT_EQ(managed->version.major, 1u);
    EXPECT_EQ(managed->array.rank, 2);
    EXPECT_EQ(managed->array.shape[1], 40);
    EXPECT_EQ(managed->array.type.bits, 8 * dlcore_dtype_size(dtype));
    dlcore_tensor* back = take(managed);  // which takes it over
    EXPECT_EQ(dlcore_tensor_dtype(back), dtype);
    EXPECT_EQ(read(back), Doubles(120, 1));
  }
}

TEST_F(DlpackTest, ExportSharesElementsAndKeepsThemAlive) {
  dlcore_tensor* t = f32({10, 10}, range(100));
  const int64_t axes[] = {1, 0};
  dlcore_tensor* view = dlcore_permute_dims(ctx_, t, axes, 2);
  dlpack::Versioned *one = give(t), *two = give(view);
  EXPECT_EQ(one->array.data, two->array.data);
  EXPECT_EQ(one->flags, dlpack::kReadOnly);
  EXPECT_EQ(two->array.strides[0], 1);
  EXPECT_EQ(two->array.strides[1], 10);
  dlcore_tensor_release(t);
  dlcore_tensor_release(view);
  EXPECT_EQ(static_cast<float*>(one->array.data)[99], 99);
  EXPECT_GT(statistics().live_bytes, 0u);
  end(one);
  end(two);
  EXPECT_EQ(statistics().live_bytes, 0u);
}

TEST_F(DlpackTest, CopiesAreTheReceivers) {
  dlcore_tensor* t = f32({10, 10}, range(100));
  const int64_t axes[] = {1, 0};
  dlpack::Versioned* copy = give(t, DLCORE_DLPACK_COPY);
  EXPECT_EQ(copy->flags, dlpack::kIsCopied);
  static_cast<float*>(copy->array.data)[0] = 7;
  EXPECT_EQ(read(t)[0], 0);
  end(copy);
  dlpack::Versioned* dense = give(dlcore_permute_dims(ctx_, t, axes, 2), DLCORE_DLPACK_CONTIGUOUS);
  EXPECT_EQ(dense->array.strides[0], 10);
  EXPECT_EQ(static_cast<float*>(dense->array.data)[1], 10);
  end(dense);
}

TEST_F(DlpackTest, ScalarsAndNothing) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{0, 16}, Shape{2}}) {
    const size_t n = shape.empty() ? 1 : static_cast<size_t>(shape[0]);
    dlcore_tensor* back = take(give(f32(shape, range(static_cast<int64_t>(n)))));
    EXPECT_EQ(shape_of(back), shape);
    EXPECT_EQ(read(back), range(static_cast<int64_t>(n)));
  }
}

TEST_F(DlpackTest, ImportCopiesUnlessItBorrows) {
  Foreign theirs;
  dlcore_tensor* copy = take(&theirs.managed);
  EXPECT_EQ(theirs.deleted, 1);
  theirs.elements[0] = 50;
  EXPECT_EQ(read(copy), range(6));

  Foreign lent;
  dlcore_tensor* borrowed = take(&lent.managed, DLCORE_DLPACK_BORROW);
  dlcore_tensor* row = dlcore_sum(ctx_, borrowed);
  EXPECT_EQ(lent.deleted, 0);
  EXPECT_EQ(read(row), Doubles{15});
  dlpack::Versioned* again = give(borrowed);
  EXPECT_EQ(again->array.data, lent.elements);
  end(again);
  dlcore_tensor_release(borrowed);
  EXPECT_EQ(lent.deleted, 1);

  Foreign old;
  EXPECT_EQ(read(take(&old.old, DLCORE_DLPACK_UNVERSIONED)), range(6));
  EXPECT_EQ(old.deleted, 1);
}

TEST_F(DlpackTest, StridesAndOffsetsAreHonoured) {
  for (const uint64_t flags : {uint64_t{0}, uint64_t{DLCORE_DLPACK_BORROW}}) {
    Foreign theirs;
    theirs.shape[0] = 2, theirs.shape[1] = 2;
    theirs.strides[0] = 1, theirs.strides[1] = 3;
    theirs.managed.array.byte_offset = sizeof(float);
    dlcore_tensor* t = take(&theirs.managed, flags);
    EXPECT_EQ(read(t), Doubles({1, 4, 2, 5}));
    dlcore_tensor_release(t);
    EXPECT_EQ(theirs.deleted, 1);

    Foreign reversed;
    reversed.strides[0] = -3;
    reversed.managed.array.data = reversed.elements + 3;
    EXPECT_EQ(read(take(&reversed.managed, flags)), Doubles({3, 4, 5, 0, 1, 2}));

    Foreign dense;
    dense.managed.array.strides = nullptr;
    t = take(&dense.managed, flags);
    EXPECT_EQ(read(t), range(6));
    dlcore_tensor_release(t);
  }
}

// What is borrowed is never written to, not even by a variable that holds it alone.
TEST_F(DlpackTest, BorrowedElementsAreNotUpdatedInPlace) {
  std::vector<float> elements(1000, 1);
  Foreign theirs;
  theirs.shape[0] = 1000, theirs.strides[0] = 1;
  theirs.managed.array.rank = 1;
  theirs.managed.array.data = elements.data();
  dlcore_tensor* t = take(&theirs.managed, DLCORE_DLPACK_BORROW);
  dlcore_variable* v = dlcore_variable_create(ctx_, "v", t, DLCORE_VARIABLE_TRAINABLE);
  dlcore_tensor_release(t);
  dlcore_variable_accumulate(ctx_, v, f32({1000}, Doubles(1000, 1)));
  EXPECT_EQ(read(dlcore_variable_read(ctx_, v)), Doubles(1000, 2));
  EXPECT_EQ(elements, std::vector<float>(1000, 1));
  EXPECT_EQ(theirs.deleted, 1);
}

TEST_F(DlpackTest, RefusesWhatIsWrong) {
  const auto refuses = [&](auto&& change, dlcore_status code, const char* part) {
    Foreign theirs;
    change(theirs);
    EXPECT_EQ(take(&theirs.managed, DLCORE_DLPACK_BORROW), nullptr) << part;
    expect_error(code, part);
    EXPECT_EQ(theirs.deleted, 0) << part;
  };
  refuses([](Foreign& f) { f.managed.array.rank = 17; }, DLCORE_INVALID_ARGUMENT, "rank is 17");
  refuses([](Foreign& f) { f.managed.array.rank = -1; }, DLCORE_INVALID_ARGUMENT, "rank is -1");
  refuses([](Foreign& f) { f.shape[0] = -2; }, DLCORE_INVALID_ARGUMENT, "-2");
  refuses([](Foreign& f) { f.shape[0] = int64_t{1} << 62; }, DLCORE_INVALID_ARGUMENT, "overflow");
  refuses([](Foreign& f) { f.managed.array.data = nullptr; }, DLCORE_INVALID_ARGUMENT, "data");
  refuses([](Foreign& f) { f.managed.array.shape = nullptr; }, DLCORE_INVALID_ARGUMENT, "shape");
  refuses([](Foreign& f) { f.managed.array.type.lanes = 4; }, DLCORE_INVALID_ARGUMENT, "lanes");
  refuses(
      [](Foreign& f) {
        f.managed.array.type = {5, 64, 1};
      },
      DLCORE_INVALID_ARGUMENT, "type code 5 of 64 bits");
  refuses([](Foreign& f) { f.managed.array.device.type = 2; }, DLCORE_UNIMPLEMENTED, "type 2");
  refuses([](Foreign& f) { f.managed.version.major = 2; }, DLCORE_UNIMPLEMENTED, "2.0");
  EXPECT_EQ(take(nullptr), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "address");
  uint64_t address = 0;
  EXPECT_EQ(dlcore_tensor_to_dlpack(ctx_, f32({}, {1}), 64, &address), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "flags is 0x40");
  EXPECT_EQ(dlcore_tensor_to_dlpack(ctx_, f32({}, {1}), 0, nullptr), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "address");
  EXPECT_EQ(dlcore_tensor_to_dlpack(ctx_, nullptr, 0, &address), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "tensor");
  Foreign theirs;
  uint8_t bytes[6] = {0, 1, 2, 0, 0, 0};
  theirs.managed.array.data = bytes;
  theirs.managed.array.type = {6, 8, 1};
  EXPECT_EQ(take(&theirs.managed), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "byte 2 of a bool tensor is 2");
}

}  // namespace
}  // namespace dlcore::test
