// SPDX-License-Identifier: Apache-2.0
#include "dlcore/dlpack.h"

#include "capi/src/call.h"
#include "core/io/dlpack.h"

using namespace dlcore;
using namespace dlcore::api;

namespace {

void need_flags(uint64_t flags, uint64_t known, const char* call) {
  if ((flags & ~known) != 0)
    invalid("{}: flags is {:#x}, expected a combination of {:#x}", call, flags, known);
}

}  // namespace

dlcore_status dlcore_tensor_to_dlpack(dlcore_context* ctx, dlcore_tensor* tensor, uint64_t flags,
                                      uint64_t* address) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "tensor_to_dlpack";
    need_flags(flags, DLCORE_DLPACK_COPY | DLCORE_DLPACK_UNVERSIONED | DLCORE_DLPACK_CONTIGUOUS,
               kCall);
    need_pointer(address, kCall, "address");
    Tensor& t = need_elements(c, tensor, kCall);
    const dlpack::ExportOptions options = {(flags & DLCORE_DLPACK_COPY) != 0,
                                           (flags & DLCORE_DLPACK_CONTIGUOUS) != 0};
    void* managed = (flags & DLCORE_DLPACK_UNVERSIONED) != 0
                        ? dlpack::give_unversioned(c, t, options)
                        : dlpack::give_versioned(c, t, options);
    *address = reinterpret_cast<uintptr_t>(managed);
  });
}

dlcore_tensor* dlcore_tensor_from_dlpack(dlcore_context* ctx, uint64_t address, uint64_t flags) {
  return tensor_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "tensor_from_dlpack";
    need_flags(flags, DLCORE_DLPACK_BORROW | DLCORE_DLPACK_UNVERSIONED, kCall);
    auto* managed = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
    need_pointer(managed, kCall, "address");
    const bool borrow = (flags & DLCORE_DLPACK_BORROW) != 0;
    return (flags & DLCORE_DLPACK_UNVERSIONED) != 0
               ? dlpack::take(c, *static_cast<dlpack::Unversioned*>(managed), borrow)
               : dlpack::take(c, *static_cast<dlpack::Versioned*>(managed), borrow);
  });
}
