// SPDX-License-Identifier: Apache-2.0
// The arithmetic of positions: which elements of the source each element of the result meets.
#pragma once

#include <array>
#include <cstdint>

#include "dlcore/plugin.h"

namespace dlcore::cpu {

// What the inner kernel of an instruction set works in; `chunk` columns of a packed tile lie
// together.
struct TileShape {
  int64_t rows;
  int64_t cols;
  int64_t chunk;
};

// A convolution y = x * w as a launch describes it; index 0 is rows, 1 is columns.
struct Convolution {
  int64_t images;
  int64_t groups;
  int64_t inputs;   // channels of x per group
  int64_t outputs;  // channels of y per group
  std::array<int64_t, 2> in, out, kernel, stride, dilation, before;

  static Convolution of(const dlcore_launch& launch, const dlcore_operand& x,
                        const dlcore_operand& w, const dlcore_operand& y);
};

// One axis of a correlation: element u of the result meets, at tap i, the source element
// u * step + first + i * by, which is 0 outside of [0, source).
struct TapAxis {
  int64_t taps;
  int64_t kernel_first;  // tap i is element kernel_first + i * kernel_step of the kernel
  int64_t kernel_step;
  int64_t source;
  int64_t out;
  int64_t first;
  int64_t by;
  int64_t step;
  int64_t out_first;  // element u is element out_first + u * out_step of the whole result
  int64_t out_step;

  // The same for elements [begin, end) of the result only.
  TapAxis part(int64_t begin, int64_t end) const;

  // The source copied for this axis. Positions are taken apart into phases by their remainder by
  // `step`, so that consecutive elements of the result meet consecutive elements of one phase. Only
  // the phases that a tap falls on exist.
  int64_t phases() const;
  int64_t depth() const;  // how much longer than `out` a phase is
  int64_t length() const { return out + depth(); }
  int64_t position(int64_t phase) const;  // source position of element 0 of a phase
  int64_t phase_of(int64_t tap) const;    // the phase that a tap falls on,
  int64_t offset_of(int64_t tap) const;   // and the element there that result 0 meets

 private:
  int64_t rank(int64_t tap) const { return by < 0 ? taps - 1 - tap : tap; }  // from the lowest
  int64_t distance() const { return by < 0 ? -by : by; }
  int64_t period() const;  // taps this far apart fall on the same phase
};

// Elements of a phase that lie in the source.
struct Inside {
  int64_t begin;
  int64_t end;
  int64_t source;  // where the first of them lies there

  static Inside of(const TapAxis& axis, int64_t phase);
};

// y from x.
TapAxis forward_axis(const Convolution& c, int axis);

// The gradient of x from that of y, for elements `start`, start + stride... of x, where start is
// less than both stride and the size of x.
TapAxis backward_axis(const Convolution& c, int axis, int64_t start);

// How copies of source channels lie: [channel][row phase][column phase][row][column]. Some zeros
// behind a row may also be those before the next.
struct PlaneLayout {
  int64_t pitch = 0;     // of rows
  int64_t phase = 0;     // of phases
  int64_t plane = 0;     // of channels
  int64_t virtuals = 0;  // results of one image, counting the columns between rows

  static PlaneLayout of(const TapAxis& rows, const TapAxis& cols, int64_t shared = 0);
  // How many zeros rows can share.
  static int64_t most_shared(const TapAxis& cols);
  // Elements of one channel, were no zeros shared; they need not fit any integer.
  static double size(const TapAxis& rows, const TapAxis& cols);
  // Where the element that taps (i, j) of result 0 meet lies in a channel's planes.
  int64_t offset(const TapAxis& rows, const TapAxis& cols, int64_t i, int64_t j) const;
};

}  // namespace dlcore::cpu
