/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/dlcore.h -- everything but the generated ops.h and plugin.h.
 */
#ifndef DLCORE_DLCORE_H
#define DLCORE_DLCORE_H

#include <dlcore/autograd.h>
#include <dlcore/base.h>
#include <dlcore/checkpoint.h>
#include <dlcore/context.h>
#include <dlcore/data.h>
#include <dlcore/dlpack.h>
#include <dlcore/engine.h>
#include <dlcore/graph.h>
#include <dlcore/io.h>
#include <dlcore/log.h>
#include <dlcore/module.h>
#include <dlcore/op.h>
#include <dlcore/optimizer.h>
#include <dlcore/schedule.h>
#include <dlcore/tensor.h>
#include <dlcore/variable.h>

#endif
