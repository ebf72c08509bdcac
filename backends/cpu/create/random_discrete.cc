// SPDX-License-Identifier: Apache-2.0
// random_bernoulli and random_integers.
#include "backends/cpu/create/create.h"
#include "backends/cpu/create/random.h"
#include "backends/cpu/targets.h"

namespace dlcore::cpu {
namespace plain {
namespace {

// [shape; p]: true with probability p, from 24 bits.
dlcore_status bernoulli(void* queue, const dlcore_launch* launch) {
  const RandomCall call = random_call(launch->inputs[0]);
  const double p = attr_double(attrs_after_shape(launch)[0]);
  const dlcore_operand& out = launch->outputs[0];
  uint8_t* const data = static_cast<uint8_t*>(out.data);
  for_each_draw(*static_cast<const Queue*>(queue), out.count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += 4) {
      const PhiloxBlock words = call.block(static_cast<uint64_t>(i) / 4);
      for (int64_t w = 0; w < std::min<int64_t>(4, end - i); ++w) {
        data[i + w] = (words[static_cast<size_t>(w)] >> 8) * 0x1p-24 < p ? 1 : 0;
      }
    }
  });
  return DLCORE_OK;
}

// The upper 64 bits of a product of 64-bit numbers.
uint64_t multiply_high(uint64_t a, uint64_t b) {
  const uint64_t low = 0xffffffff;
  const uint64_t cross0 = (a >> 32) * (b & low) + ((a & low) * (b & low) >> 32);
  const uint64_t cross1 = (a & low) * (b >> 32) + (cross0 & low);
  return (a >> 32) * (b >> 32) + (cross0 >> 32) + (cross1 >> 32);
}

// [shape; low; high]: low + floor(draw * (high - low) / 2^64).
dlcore_status integers(void* queue, const dlcore_launch* launch) {
  const RandomCall call = random_call(launch->inputs[0]);
  const int64_t* const attrs = attrs_after_shape(launch);
  const uint64_t low = static_cast<uint64_t>(attrs[0]);
  const uint64_t width = static_cast<uint64_t>(attrs[1]) - low;
  const dlcore_operand& out = launch->outputs[0];
  int64_t* const data = static_cast<int64_t*>(out.data);
  for_each_draw(*static_cast<const Queue*>(queue), out.count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t draw = call.draw64(static_cast<uint64_t>(i));
      data[i] = static_cast<int64_t>(low + multiply_high(draw, width));
    }
  });
  return DLCORE_OK;
}

constexpr dlcore_kernel kKernels[] = {
    make_kernel(Op::kRandomBernoulli, DLCORE_BOOL, 0, bernoulli),
    make_kernel(Op::kRandomIntegers, DLCORE_I64, 0, integers),
};

}  // namespace
}  // namespace plain

DLCORE_CPU_PLAIN_KERNEL_FILE(random_discrete)

}  // namespace dlcore::cpu
