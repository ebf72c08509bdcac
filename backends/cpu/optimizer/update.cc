// SPDX-License-Identifier: Apache-2.0
// sgd_update:  g += weight_decay p;  v = momentum v + (1 - dampening) g;
//              p -= lr (nesterov ? g + momentum v : v)        without momentum p -= lr g
// adam_update: Kingma & Ba 2015, algorithm 1, with epsilon outside the root; weight decay is added
//              to the gradient, or applied to the parameter first when decoupled (Loshchilov &
//              Hutter 2019).
// Outputs may have the memory of the inputs of the same name. Parameters and gradients of half
// precision are computed in f32, and their state is f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/optimizer/update.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/optimizer/operands.h"
#include "backends/cpu/optimizer/optimizer.h"
#include "backends/cpu/queue.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/reduce/block-inl.h"
#include "backends/cpu/reduce/codec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

// Calls body(start, n) for blocks of at most kBlock elements.
template <class Body>
void for_each_update_block(const Queue& queue, int64_t count, const Body& body) {
  queue.parallel_for((count + kUpdatePart - 1) / kUpdatePart, [&](int64_t part) {
    const int64_t last = std::min(count, (part + 1) * kUpdatePart);
    for (int64_t start = part * kUpdatePart; start < last; start += kBlock) {
      body(start, std::min(kBlock, last - start));
    }
  });
}

bool has_operand(const dlcore_operand* operands, int32_t n, int32_t index) {
  return index < n && operands[index].dtype != DLCORE_DTYPE_NONE;
}

template <class T>
struct SgdFactors {
  T lr;
  T momentum;
  T gradient;  // 1 - dampening
  T weight_decay;
  bool nesterov;
};

template <class T>
void sgd_block(const SgdFactors<T>& f, int64_t n, const T* p_in, const T* g_in, const T* v_in,
               T* p_out, T* v_out) {
  const hn::ScalableTag<T> d;
  const auto lr = hn::Set(d, f.lr);
  const auto momentum = hn::Set(d, f.momentum);
  const auto gradient = hn::Set(d, f.gradient);
  const auto decay = hn::Set(d, f.weight_decay);
  const bool nesterov = f.nesterov;
  const auto decayed = [=](auto p, auto g) HWY_ATTR { return hn::MulAdd(decay, p, g); };
  if (v_out == nullptr) {
    map_block<T>(
        n, p_out, [=](auto p, auto g) HWY_ATTR { return hn::NegMulAdd(lr, decayed(p, g), p); },
        p_in, g_in);
    return;
  }
  map_block<T>(
      n, v_out,
      [=](auto p, auto g, auto v)
          HWY_ATTR { return hn::MulAdd(momentum, v, hn::Mul(gradient, decayed(p, g))); },
      p_in, g_in, v_in);
  map_block<T>(
      n, p_out,
      [=](auto p, auto g, auto v) HWY_ATTR {
        const auto step = nesterov ? hn::MulAdd(momentum, v, decayed(p, g)) : v;
        return hn::NegMulAdd(lr, step, p);
      },
      p_in, g_in, static_cast<const T*>(v_out));
}

// An operand of an update as one row.
template <class T>
class Operand {
 public:
  explicit Operand(const dlcore_operand& operand)
      : all_(rows_of<T>(operand, ~0u)), row_(all_.row(0)) {}
  const T* read(int64_t start, int64_t n, T* buffer) const {
    return all_.read(row_, start, n, buffer);
  }
  T* place(int64_t start, int64_t n, T* buffer) const { return all_.place(row_, start, n, buffer); }
  void write(int64_t start, int64_t n, const T* place) const { all_.write(row_, start, n, place); }

 private:
  Rows<T> all_;
  std::byte* row_;
};

template <class T>
dlcore_status sgd_update(void* queue, const dlcore_launch* launch) {
  const double momentum = attr_f64(launch, 0);
  const SgdFactors<T> factors = {static_cast<T>(scalar_f64(launch->inputs[3])),
                                 static_cast<T>(momentum), static_cast<T>(1 - attr_f64(launch, 1)),
                                 static_cast<T>(attr_f64(launch, 3)), launch->attrs[2] != 0};
  const Operand<T> p(launch->inputs[0]);
  const Operand<T> g(launch->inputs[1]);
  const bool has_v = has_operand(launch->inputs, launch->n_inputs, 2);
  const Operand<T> v(launch->inputs[has_v ? 2 : 0]);
  const Operand<T> p_out(launch->outputs[0]);
  const bool writes_v = has_operand(launch->outputs, launch->n_outputs, 1);
  T* v_all = writes_v ? static_cast<T*>(launch->outputs[1].data) : nullptr;
  for_each_update_block(*static_cast<const Queue*>(queue), launch->inputs[0].count,
                        [&](int64_t start, int64_t n) {
                          alignas(64) T p_buffer[kBlock];
                          alignas(64) T g_buffer[kBlock];
                          alignas(64) T v_buffer[kBlock];
                          alignas(64) T v_new[kBlock];
                          const T* p_in = p.read(start, n, p_buffer);
                          const T* g_in = g.read(start, n, g_buffer);
                          const T* v_in = v_buffer;
                          if (has_v) {
                            v_in = v.read(start, n, v_buffer);
                          } else {
                            std::fill_n(v_buffer, n, T(0));
                          }
                          T* to = p_out.place(start, n, p_buffer);
                          T* v_out = writes_v ? v_all + start : momentum != 0 ? v_new : nullptr;
                          sgd_block(factors, n, p_in, g_in, v_in, to, v_out);
                          p_out.write(start, n, to);
                        });
  return DLCORE_OK;
}

template <class T>
struct AdamFactors {
  T lr;  // lr / (1 - beta1^t): turns m into lr * mhat
  T beta1;
  T rest1;  // 1 - beta1
  T beta2;
  T rest2;         // 1 - beta2
  T v_correction;  // 1 / (1 - beta2^t)
  T epsilon;
  T coupled;  // weight decay added to the gradient
  T shrink;   // 1 - lr * decoupled weight decay
};

template <class T>
AdamFactors<T> adam_factors(const dlcore_launch* launch) {
  const double lr = scalar_f64(launch->inputs[4]);
  const double step = scalar_f64(launch->inputs[5]);
  const double beta1 = attr_f64(launch, 0);
  const double beta2 = attr_f64(launch, 1);
  const double weight_decay = attr_f64(launch, 3);
  const bool decoupled = launch->attrs[4] != 0;
  return {static_cast<T>(lr / (1 - std::pow(beta1, step))),
          static_cast<T>(beta1),
          static_cast<T>(1 - beta1),
          static_cast<T>(beta2),
          static_cast<T>(1 - beta2),
          static_cast<T>(1 / (1 - std::pow(beta2, step))),
          static_cast<T>(attr_f64(launch, 2)),
          static_cast<T>(decoupled ? 0.0 : weight_decay),
          static_cast<T>(decoupled ? 1 - lr * weight_decay : 1.0)};
}

template <class T>
struct AdamBlock {
  const T* p;
  const T* g;
  const T* m;
  const T* v;
  T* p_out;
  T* m_out;
  T* v_out;
};

template <class D, class T>
HWY_INLINE void adam_vector(D d, const AdamFactors<T>& f, const AdamBlock<T>& b, int64_t i) {
  const auto p = hn::LoadU(d, b.p + i);
  const auto g = hn::MulAdd(hn::Set(d, f.coupled), p, hn::LoadU(d, b.g + i));
  const auto m =
      hn::MulAdd(hn::Set(d, f.beta1), hn::LoadU(d, b.m + i), hn::Mul(hn::Set(d, f.rest1), g));
  const auto v = hn::MulAdd(hn::Set(d, f.beta2), hn::LoadU(d, b.v + i),
                            hn::Mul(hn::Mul(hn::Set(d, f.rest2), g), g));
  const auto root = hn::Sqrt(hn::Mul(v, hn::Set(d, f.v_correction)));
  const auto change = hn::Div(hn::Mul(hn::Set(d, f.lr), m), hn::Add(root, hn::Set(d, f.epsilon)));
  hn::StoreU(m, d, b.m_out + i);
  hn::StoreU(v, d, b.v_out + i);
  hn::StoreU(hn::Sub(hn::Mul(p, hn::Set(d, f.shrink)), change), d, b.p_out + i);
}

template <class T>
void adam_block(const AdamFactors<T>& factors, const AdamBlock<T>& b, int64_t n) {
  const AdamFactors<T> f = factors;  // cannot alias what is stored
  const hn::ScalableTag<T> d;
  constexpr int64_t kWidth = hn::MaxLanes(hn::ScalableTag<T>());
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) adam_vector(d, f, b, i);
  for (; i < n; ++i) adam_vector(hn::CappedTag<T, 1>(), f, b, i);
}

template <class T>
dlcore_status adam_update(void* queue, const dlcore_launch* launch) {
  const AdamFactors<T> factors = adam_factors<T>(launch);
  const Operand<T> p(launch->inputs[0]);
  const Operand<T> g(launch->inputs[1]);
  const Operand<T> m(launch->inputs[2]);
  const Operand<T> v(launch->inputs[3]);
  const Operand<T> p_out(launch->outputs[0]);
  T* m_out = static_cast<T*>(launch->outputs[1].data);
  T* v_out = static_cast<T*>(launch->outputs[2].data);
  for_each_update_block(*static_cast<const Queue*>(queue), launch->inputs[0].count,
                        [&](int64_t start, int64_t n) {
                          alignas(64) T buffers[4][kBlock];
                          const AdamBlock<T> block = {p.read(start, n, buffers[0]),
                                                      g.read(start, n, buffers[1]),
                                                      m.read(start, n, buffers[2]),
                                                      v.read(start, n, buffers[3]),
                                                      p_out.place(start, n, buffers[0]),
                                                      m_out + start,
                                                      v_out + start};
                          adam_block(factors, block, n);
                          p_out.write(start, n, block.p_out);
                        });
  return DLCORE_OK;
}

constexpr uint32_t kFlags = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;
constexpr dlcore_kernel kKernels[] = {
    make_kernel(Op::kSgdUpdate, DLCORE_F32, kFlags, sgd_update<float>),
    make_kernel(Op::kSgdUpdate, DLCORE_F16, kFlags, sgd_update<float>),
    make_kernel(Op::kSgdUpdate, DLCORE_BF16, kFlags, sgd_update<float>),
    make_kernel(Op::kSgdUpdate, DLCORE_F64, kFlags, sgd_update<double>),
    make_kernel(Op::kAdamUpdate, DLCORE_F32, kFlags, adam_update<float>),
    make_kernel(Op::kAdamUpdate, DLCORE_F16, kFlags, adam_update<float>),
    make_kernel(Op::kAdamUpdate, DLCORE_BF16, kFlags, adam_update<float>),
    make_kernel(Op::kAdamUpdate, DLCORE_F64, kFlags, adam_update<double>),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(update)
}  // namespace dlcore::cpu
#endif
