// SPDX-License-Identifier: Apache-2.0
#include "dlcore/log.h"

#include <algorithm>
#include <cstring>

#include "capi/src/call.h"

using namespace dlcore;
using namespace dlcore::api;

int32_t dlcore_engine_next_log(dlcore_engine* engine, dlcore_log_record* record,
                               int64_t milliseconds) {
  Engine* e = live<Engine>(engine);
  if (e == nullptr || record == nullptr || record->struct_size < sizeof(uint32_t)) return 0;
  try {
    const Ref<Engine> held(e);  // whoever waits, waits for a living one
    dlcore_log_record next;
    if (!e->log().next(next, milliseconds)) return 0;
    next.struct_size = record->struct_size;
    std::memcpy(record, &next, std::min<size_t>(record->struct_size, sizeof next));
    return 1;
  } catch (...) {
    return 0;
  }
}

dlcore_status dlcore_engine_log(dlcore_engine* engine, int32_t level, const char* source,
                                const char* message) {
  Engine* e = live<Engine>(engine);
  const bool known = level == DLCORE_LOG_DEBUG || level == DLCORE_LOG_INFO ||
                     level == DLCORE_LOG_WARNING || level == DLCORE_LOG_ERROR;
  if (e == nullptr || !e->open() || !known || source == nullptr || message == nullptr)
    return DLCORE_INVALID_ARGUMENT;
  e->log().write(level, source, message);
  return DLCORE_OK;
}

int32_t dlcore_engine_set_log_level(dlcore_engine* engine, int32_t level) {
  Engine* e = live<Engine>(engine);
  return e == nullptr ? -1 : e->log().set_level(level);
}
