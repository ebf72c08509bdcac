// SPDX-License-Identifier: Apache-2.0
// Destroying what a handle stands for once nobody refers to it.
#include "core/base/handle.h"
#include "core/data/loader.h"
#include "core/engine/context.h"
#include "core/engine/error_handle.h"
#include "core/graph/capture.h"
#include "core/graph/executable.h"
#include "core/io/archive.h"
#include "core/io/checkpoint.h"
#include "core/nn/module.h"
#include "core/ops/custom.h"
#include "core/ops/op_call.h"
#include "core/optim/optimizer.h"
#include "core/optim/schedule.h"
#include "core/tensor/variable.h"

namespace dlcore {

void destroy_tensor(Tensor* tensor);  // core/autograd/node.cc

void destroy(Handle* object) {
  switch (object->tag.load(std::memory_order_relaxed)) {
    case Tag::kTensor:
      return destroy_tensor(static_cast<Tensor*>(object));
    case Tag::kEngine:
      return destroy_handle(static_cast<Engine*>(object));
    case Tag::kContext:
      return destroy_handle(static_cast<Context*>(object));
    case Tag::kError:
      return destroy_handle(static_cast<ErrorHandle*>(object));
    case Tag::kScope:
      return destroy_handle(static_cast<Scope*>(object));
    case Tag::kVariable:
      return destroy_handle(static_cast<Variable*>(object));
    case Tag::kTransform:
      return destroy_handle(static_cast<Transform*>(object));
    case Tag::kGraph:
      return destroy_handle(static_cast<Graph*>(object));
    case Tag::kExecutable:
      return destroy_handle(static_cast<Executable*>(object));
    case Tag::kModule:
      return destroy_handle(static_cast<Module*>(object));
    case Tag::kOptimizer:
      return destroy_handle(static_cast<Optimizer*>(object));
    case Tag::kLoader:
      return destroy_handle(static_cast<Loader*>(object));
    case Tag::kArchive:
      return destroy_handle(static_cast<Archive*>(object));
    case Tag::kOpCall:
      return destroy_handle(static_cast<OpCall*>(object));
    case Tag::kCheckpoint:
      return destroy_handle(static_cast<Checkpoint*>(object));
    case Tag::kSchedule:
      return destroy_handle(static_cast<Schedule*>(object));
    case Tag::kDead:
    case Tag::kNone:
      return;
  }
}

}  // namespace dlcore
