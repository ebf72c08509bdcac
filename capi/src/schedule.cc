// SPDX-License-Identifier: Apache-2.0
#include "dlcore/schedule.h"

#include "capi/src/call.h"
#include "core/optim/schedule.h"

using namespace dlcore;
using namespace dlcore::api;

namespace {

Schedule& need_schedule(Context& ctx, const dlcore_schedule* handle, const char* call) {
  return need_own<Schedule>(ctx, handle, call, "schedule");
}

}  // namespace

dlcore_schedule* dlcore_schedule_create(dlcore_context* ctx, int32_t schedule,
                                        dlcore_optimizer* optimizer, const int64_t* attrs,
                                        int64_t n_words) {
  return object_call<dlcore_schedule>(ctx, [&](Context& c) {
    constexpr const char* kCall = "schedule_create";
    const ScheduleDef* def = find_schedule(schedule);
    if (def == nullptr) fail(DLCORE_NOT_FOUND, "{}: no schedule has number {}", kCall, schedule);
    Optimizer& o = need_own<Optimizer>(c, optimizer, kCall, "optimizer");
    return make_ref<Schedule>(c, *def, o, need_words(attrs, n_words, kCall));
  });
}

void dlcore_schedule_retain(dlcore_schedule* schedule) { retain<Schedule>(schedule); }
void dlcore_schedule_release(dlcore_schedule* schedule) { release<Schedule>(schedule); }

dlcore_status dlcore_schedule_step(dlcore_context* ctx, dlcore_schedule* schedule) {
  return status_call(ctx, [&](Context& c) { need_schedule(c, schedule, "schedule_step").step(c); });
}

const char* dlcore_schedule_kind(const dlcore_schedule* schedule) {
  const Schedule* s = live<Schedule>(schedule);
  return s == nullptr ? nullptr : s->kind();
}

dlcore_variable* dlcore_schedule_count(dlcore_context* ctx, dlcore_schedule* schedule) {
  return value_call<dlcore_variable*>(ctx, nullptr, [&](Context& c) {
    Schedule& s = need_schedule(c, schedule, "schedule_count");
    return reinterpret_cast<dlcore_variable*>(&s.count());
  });
}

dlcore_variable* dlcore_schedule_base_rate(dlcore_context* ctx, dlcore_schedule* schedule,
                                           int64_t group) {
  return value_call<dlcore_variable*>(ctx, nullptr, [&](Context& c) {
    Schedule& s = need_schedule(c, schedule, "schedule_base_rate");
    return reinterpret_cast<dlcore_variable*>(&s.base_rate(group));
  });
}
