// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: bytes as a safetensors file. What opens can be read, each tensor of it.
#include <vector>

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dlcore::fuzz;
  return on_fresh_context([&](dlcore_context* ctx) {
    dlcore_archive* archive = dlcore_archive_open_buffer(ctx, data, size);
    if ((archive == nullptr) != (dlcore_ok(ctx) == 0)) found("opened and failed");
    std::vector<char> elements;
    for (int64_t i = 0; i < dlcore_archive_count(archive); ++i) {
      dlcore_tensor* t = dlcore_archive_tensor(ctx, archive, dlcore_archive_name(archive, i));
      if (t == nullptr && dlcore_context_status(ctx) == DLCORE_RESOURCE_EXHAUSTED) {
        dlcore_context_clear_error(ctx);
        continue;
      }
      if (t == nullptr) found("a tensor that is there", dlcore_context_error_message(ctx));
      const dlcore_dtype dtype = dlcore_tensor_dtype(t);
      elements.resize(static_cast<size_t>(dlcore_tensor_count(t)) * dlcore_dtype_size(dtype));
      if (elements.size() > size) found("more elements than bytes");
      if (dlcore_tensor_read(ctx, t, dtype, elements.data(), elements.size()) != DLCORE_OK)
        found("unreadable", dlcore_context_error_message(ctx));
      dlcore_tensor_release(t);
    }
    dlcore_archive_release(archive);
  });
}
