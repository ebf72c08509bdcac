// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/catalogue.h"

#include <atomic>
#include <string>

#include "backends/cpu/cpu_device.h"
#include "dlcore/op.h"

using namespace dlcore;

namespace {

// The text is made when first asked for. It lives as long as the process, so that a pointer to it
// always may be kept.
constinit std::atomic<const std::string*> catalogue_text{nullptr};

const std::string* make_text() {
  ThreadPool pool(1);
  BuiltInDevice cpu = cpu::make_device(pool, EngineOptions{});
  Device device(cpu.api, 0, 0, std::move(cpu.owner));
  Device* devices[] = {&device};
  return new std::string(catalogue_json(OpTable(), devices));
}

}  // namespace

const char* dlcore_catalogue_json(int64_t* size) {
  if (size != nullptr) *size = 0;
  try {
    const std::string* text = catalogue_text.load(std::memory_order_acquire);
    if (text == nullptr) {
      const std::string* made = make_text();
      if (catalogue_text.compare_exchange_strong(text, made)) {
        text = made;
      } else {
        delete made;
      }
    }
    if (size != nullptr) *size = static_cast<int64_t>(text->size());
    return text->c_str();
  } catch (...) {
    return nullptr;
  }
}
