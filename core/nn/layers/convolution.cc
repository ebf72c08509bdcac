// SPDX-License-Identifier: Apache-2.0
// Layers that convolve with a kernel of weights.
#include "core/base/error.h"
#include "core/nn/initial.h"
#include "core/nn/layer.h"

namespace dlcore {
namespace {

constexpr int32_t kConv2dOp = 112;
enum : int {
  kInChannels,
  kOutChannels,
  kKernel,
  kStride,
  kPadding,
  kDilation,
  kGroups,
  kBias,
  kAutoPad,
  kInit
};
enum : size_t { kWeightVariable, kBiasVariable };

// The op checks the other attributes when the layer is called.
void check(const AttrReader& attrs, const char* function) {
  const int64_t groups = attrs.number(kGroups);
  if (groups < 1) invalid("{}: groups is {}, expected 1 or more", function, groups);
  for (const int i : {kInChannels, kOutChannels}) {
    const char* const name = i == kInChannels ? "in_channels" : "out_channels";
    const int64_t channels = attrs.number(i);
    if (channels < 0) invalid("{}: {} is {}, expected 0 or more", function, name, channels);
    if (channels % groups != 0) {
      invalid("{}: {} is {}, expected a multiple of groups, which is {}", function, name, channels,
              groups);
    }
  }
  const auto kernel = attrs.list(kKernel);
  if (kernel.size() != 1 && kernel.size() != 2)
    invalid("{}: kernel has {} entries, expected 1 or 2", function, kernel.size());
  for (const int64_t size : kernel) {
    if (size < 1) invalid("{}: kernel is {}, expected 1 or more", function, size);
  }
}

bool specify(const AttrReader& attrs, size_t i, VariableSpec& spec) {
  const int64_t groups = attrs.number(kGroups);
  const int64_t in = attrs.number(kInChannels) / groups, out = attrs.number(kOutChannels);
  const auto kernel = attrs.list(kKernel);
  const int64_t taps = checked_multiply(kernel.front(), kernel.back());
  const int64_t fan_in = checked_multiply(in, taps);
  if (i == kWeightVariable) {
    spec.shape = {out, in, kernel.front(), kernel.back()};
    spec.initial = initial_weight(attrs.text(kInit), fan_in, checked_multiply(out / groups, taps));
    return true;
  }
  spec.shape = {out};
  spec.initial = initial_bias(attrs.text(kInit), fan_in);
  return attrs.flag(kBias);
}

Value forward(const LayerCall& c, const Value& x) {
  Attrs attrs;
  for (const int i : {kStride, kPadding, kDilation}) {
    if (c.attrs.has(i)) {
      attrs.optional_list(c.attrs.list(i));
    } else {
      attrs.absent();
    }
  }
  attrs.number(c.attrs.number(kGroups)).text(c.attrs.text(kAutoPad));
  return call(kConv2dOp, {x, c.variable(kWeightVariable), c.variable(kBiasVariable)}, attrs);
}

constexpr LayerDef kConv2d = {
    .number = 15,
    .name = "Conv2d",
    .function = "conv2d_layer",
    .doc =
        "Two-dimensional convolution, plus the bias: the op conv2d.\n\n"
        "x is [N, in_channels, H, W], the result [N, out_channels, OH, OW].",
    .attrs =
        {required(int_attr("in_channels", "channels of x")),
         required(int_attr("out_channels", "channels of the result")),
         required(ints_attr("kernel", "its rows and columns, or one number for both")),
         optional(ints_attr("stride", "steps of the window: rows and columns, or one for both; 1")),
         optional(ints_attr("padding",
                            "zeros around x: one number, [rows, columns] or [top, left, bottom, "
                            "right]; 0")),
         optional(ints_attr("dilation",
                            "distance of the kernel's elements in x: rows and columns, or one for "
                            "both; 1")),
         int_attr("groups", "into which channels of x and of the result are split", 1),
         bool_attr("bias", "whether a bias is added", true),
         string_attr("auto_pad", "instead of padding, as of the op conv2d", "none",
                     "none|same_upper|same_lower|valid"),
         string_attr("init",
                     "how the weight starts; fan_in is in_channels / groups times the kernel's "
                     "elements. default: uniform in +-1/sqrt(fan_in), and the bias too; with the "
                     "others the bias starts at zero",
                     "default", kInitializers)},
    .variables = {{"weight", "[out_channels, in_channels / groups, kernel rows, kernel columns]"},
                  {"bias", "[out_channels]"}},
    .check = check,
    .specify = specify,
    .forward = forward,
};

constexpr const LayerDef* kLayers[] = {&kConv2d};

}  // namespace

extern const LayerFamily convolution_layers = kLayers;

}  // namespace dlcore
