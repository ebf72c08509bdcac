// SPDX-License-Identifier: Apache-2.0
// "Every function is safe to call with NULL for any handle", and answers by its result class.
#include "support.h"

namespace dlcore::test {
namespace {

class NullTest : public ApiTest {
 protected:
  // Of a function that fails: its error is taken.
  void expect_null(const void* result) {
    EXPECT_EQ(result, nullptr);
    dlcore_context_clear_error(ctx_);
  }
  void expect_status(dlcore_status status) {
    EXPECT_EQ(status, DLCORE_INVALID_ARGUMENT) << dlcore_context_error_message(ctx_);
    dlcore_context_clear_error(ctx_);
  }
  void expect_value(int64_t value, int64_t neutral) {
    EXPECT_EQ(value, neutral);
    dlcore_context_clear_error(ctx_);
  }
};

TEST_F(NullTest, CallsThatReturnHandles) {
  const int64_t one = 1;
  const float f = 0;
  const double d = 0;
  const int32_t i = 0;
  for (dlcore_context* c : {static_cast<dlcore_context*>(nullptr), ctx_}) {
    expect_null(dlcore_tensor_create(c, DLCORE_F32, nullptr, 1, nullptr, 4));
    expect_null(dlcore_tensor_create_strided(c, DLCORE_F32, &one, nullptr, 1, &f, 1, 0));
    expect_null(dlcore_tensor_create_strided(c, DLCORE_F32, &one, &one, 1, nullptr, 1, 0));
    expect_null(dlcore_tensor_f32(c, &one, 1, nullptr, 1));
    expect_null(dlcore_tensor_f64(c, nullptr, 1, &d, 1));
    expect_null(dlcore_tensor_i64(c, &one, 1, nullptr, 1));
    expect_null(dlcore_tensor_i32(c, nullptr, 1, &i, 1));
    expect_null(dlcore_tensor_to_device(c, nullptr, "cpu"));
    expect_null(dlcore_op_call1(c, 35, nullptr, nullptr, 0));
    expect_null(dlcore_op_call2(c, 1, nullptr, nullptr, nullptr, 0));
    expect_null(dlcore_op_call3(c, 49, nullptr, nullptr, nullptr, nullptr, 0));
    expect_null(dlcore_op_call_scalar(c, 1, nullptr, DLCORE_SCALAR_I64, 1, 0));
    expect_null(dlcore_variable_create(c, "v", nullptr, 0));
    expect_null(dlcore_variable_read(c, nullptr));
    expect_null(dlcore_variable_gradient(c, nullptr));
    expect_null(dlcore_autograd_watch(c, nullptr));
    expect_null(dlcore_jvp_lift(c, nullptr, nullptr, nullptr));
    expect_null(dlcore_jvp_primal(c, nullptr, nullptr));
    expect_null(dlcore_jvp_tangent(c, nullptr, nullptr));
    expect_null(dlcore_vmap_lift(c, nullptr, nullptr, 0));
    expect_null(dlcore_vmap_lower(c, nullptr, nullptr, 0));
    expect_null(dlcore_capture_input(c, nullptr, DLCORE_F32, nullptr));
    expect_null(dlcore_capture_constant(c, nullptr));
    expect_null(dlcore_capture_end(c, nullptr, 1));
    expect_null(dlcore_graph_parse(c, nullptr, 5));
    expect_null(dlcore_graph_apply(c, nullptr, "dce"));
    expect_null(dlcore_graph_compile(c, nullptr, nullptr, 0));
    expect_null(dlcore_module_create(c, 2, nullptr, 1, nullptr, 0));
    expect_null(dlcore_module_call(c, nullptr, nullptr));
    expect_null(dlcore_module_variable(c, nullptr, 0));
    expect_null(dlcore_module_find(c, nullptr, "x"));
    expect_null(dlcore_optimizer_create(c, 1, nullptr, 1, nullptr, 0));
    expect_null(dlcore_optimizer_clip_gradients(c, nullptr, 1));
    expect_null(dlcore_optimizer_learning_rate(c, nullptr, 0));
    expect_null(dlcore_optimizer_variable(c, nullptr, 0));
    expect_null(dlcore_schedule_create(c, 1, nullptr, nullptr, 1));
    expect_null(dlcore_schedule_count(c, nullptr));
    expect_null(dlcore_schedule_base_rate(c, nullptr, 0));
    expect_null(dlcore_loader_open(c, nullptr, 1, 0));
    expect_null(dlcore_loader_from_tensors(c, nullptr, nullptr, 1, 0));
    expect_null(dlcore_archive_open(c, nullptr));
    expect_null(dlcore_archive_open_buffer(c, nullptr, 9));
    expect_null(dlcore_archive_open_stream(c, nullptr, nullptr));
    expect_null(dlcore_module_snapshot(c, nullptr));
    expect_null(dlcore_archive_tensor(c, nullptr, "x"));
  }
  expect_null(dlcore_tensor_scalar_f32(nullptr, 1));
  expect_null(dlcore_tensor_scalar_f64(nullptr, 1));
  expect_null(dlcore_tensor_scalar_i64(nullptr, 1));
  expect_null(dlcore_tensor_scalar_bool(nullptr, 1));
  expect_null(dlcore_tensor_weak_f64(nullptr, 1));
  expect_null(dlcore_tensor_weak_i64(nullptr, 1));
  expect_null(dlcore_tensor_weak_bool(nullptr, 1));
  expect_null(dlcore_op_call0(nullptr, 140, nullptr, 0));
  expect_null(dlcore_jvp_open(nullptr));
  expect_null(dlcore_vmap_open(nullptr, 1));
  expect_null(dlcore_scope_open(nullptr));
  expect_null(dlcore_context_generator(nullptr));
  expect_null(dlcore_context_take_error(nullptr));
  expect_null(dlcore_context_open(nullptr, nullptr, 0, 0, nullptr));
}

TEST_F(NullTest, CallsThatReturnAStatus) {
  dlcore_tensor* none = nullptr;
  for (dlcore_context* c : {static_cast<dlcore_context*>(nullptr), ctx_}) {
    expect_status(dlcore_tensor_describe(c, nullptr, nullptr));
    expect_status(dlcore_tensor_read(c, nullptr, DLCORE_F32, nullptr, 0));
    expect_status(dlcore_tensor_read_f32(c, nullptr, nullptr, 0));
    expect_status(dlcore_tensor_read_f64(c, nullptr, nullptr, 0));
    expect_status(dlcore_tensor_read_i64(c, nullptr, nullptr, 0));
    expect_status(dlcore_tensor_read_i32(c, nullptr, nullptr, 0));
    expect_status(dlcore_tensor_read_bool(c, nullptr, nullptr, 0));
    expect_status(dlcore_op_invoke(c, 35, nullptr, 1, nullptr, 0, nullptr, 1, 0));
    expect_status(dlcore_op_register(c, nullptr, 1, 1, 0, nullptr, nullptr, nullptr, nullptr,
                                     nullptr, nullptr));
    expect_status(dlcore_variable_set_trainable(c, nullptr, 1));
    expect_status(dlcore_variable_assign(c, nullptr, nullptr));
    expect_status(dlcore_variable_accumulate(c, nullptr, nullptr));
    expect_status(dlcore_variable_set_gradient(c, nullptr, nullptr));
    expect_status(dlcore_backward(c, nullptr));
    expect_status(dlcore_autograd_grad(c, &none, 1, &none, 1, nullptr, nullptr, &none));
    expect_status(dlcore_autograd_grad(c, nullptr, 1, nullptr, 1, nullptr, nullptr, nullptr));
    expect_status(dlcore_transform_close(c, nullptr));
    expect_status(dlcore_gradcheck(c, nullptr, nullptr, nullptr, 0, 1, 0));
    expect_status(dlcore_capture_begin(c, nullptr));
    expect_status(dlcore_graph_verify(c, nullptr));
    expect_status(dlcore_executable_run(c, nullptr, nullptr, 0, nullptr, 0));
    expect_status(dlcore_module_save(c, nullptr, nullptr));
    expect_status(dlcore_module_load(c, nullptr, nullptr));
    expect_status(dlcore_optimizer_add_group(c, nullptr, nullptr, 0, nullptr, 0));
    expect_status(dlcore_optimizer_step(c, nullptr));
    expect_status(dlcore_optimizer_step_keep(c, nullptr));
    expect_status(dlcore_optimizer_zero_gradients(c, nullptr));
    expect_status(dlcore_schedule_step(c, nullptr));
    expect_status(dlcore_loader_seek(c, nullptr, 0, 0));
    expect_status(dlcore_archive_save(c, nullptr, nullptr, nullptr, 1));
    expect_status(dlcore_archive_write(c, nullptr, nullptr, nullptr, nullptr, 0));
    expect_status(dlcore_module_write(c, nullptr, nullptr, nullptr));
    expect_status(dlcore_module_read(c, nullptr, nullptr, nullptr));
    expect_status(dlcore_module_load_buffer(c, nullptr, nullptr, 0));
    expect_status(dlcore_loader_set_prefetch(c, nullptr, 1));
    expect_status(dlcore_checkpoint_add_module(c, nullptr, "x", nullptr));
    expect_status(dlcore_checkpoint_add_optimizer(c, nullptr, "x", nullptr));
    expect_status(dlcore_checkpoint_add_schedule(c, nullptr, "x", nullptr));
    expect_status(dlcore_checkpoint_add_loader(c, nullptr, "x", nullptr));
    expect_status(dlcore_checkpoint_add_variable(c, nullptr, "x", nullptr));
    expect_status(dlcore_checkpoint_set_text(c, nullptr, "x", nullptr));
    expect_status(dlcore_checkpoint_save(c, nullptr, "x"));
    expect_status(dlcore_checkpoint_load(c, nullptr, "x"));
    expect_status(dlcore_checkpoint_write(c, nullptr, nullptr, nullptr));
    expect_status(dlcore_checkpoint_read(c, nullptr, nullptr, nullptr));
    expect_status(dlcore_checkpoint_load_buffer(c, nullptr, nullptr, 0));
    expect_status(dlcore_context_set_error(c, DLCORE_ABORTED, nullptr));
  }
  expect_status(dlcore_context_set_deadline(nullptr, 1));
  expect_status(dlcore_context_synchronize(nullptr));
  expect_status(dlcore_context_set_seed(nullptr, 1));
  expect_status(dlcore_context_set_data_directory(nullptr, nullptr));
  expect_status(dlcore_engine_load_plugin(nullptr, nullptr, nullptr));
  expect_status(dlcore_engine_load_plugin(engine_, nullptr, nullptr));
  EXPECT_EQ(dlcore_op_call_set_output_type(nullptr, 0, DLCORE_F32, nullptr, 0),
            DLCORE_FAILED_PRECONDITION);
  EXPECT_EQ(dlcore_op_call_set_output(nullptr, 0, nullptr), DLCORE_FAILED_PRECONDITION);
  EXPECT_EQ(dlcore_op_call_set_output_like(nullptr, 0, nullptr), DLCORE_FAILED_PRECONDITION);
  EXPECT_EQ(dlcore_op_call_set_input_gradient(nullptr, 0, nullptr), DLCORE_FAILED_PRECONDITION);
}

TEST_F(NullTest, AccessorsAndPredicates) {
  for (dlcore_context* c : {static_cast<dlcore_context*>(nullptr), ctx_}) {
    expect_value(dlcore_tensor_to_string(c, nullptr, nullptr, 0), -1);
    expect_value(dlcore_graph_to_text(c, nullptr, nullptr, 0), -1);
    expect_value(dlcore_module_set_training(c, nullptr, 1), -1);
    expect_value(dlcore_module_variable_path(c, nullptr, 0, nullptr, 0), -1);
    expect_value(dlcore_catalogue_find(c, 0, nullptr), -1);
    expect_value(dlcore_op_has_kernel(c, -1, DLCORE_F32), 0);
    dlcore_tensor *x = nullptr, *y = nullptr;
    expect_value(dlcore_loader_next(c, nullptr, &x, &y), 0);
    expect_value(dlcore_loader_next(c, nullptr, nullptr, nullptr), 0);
  }
  expect_value(dlcore_ok(nullptr), 0);
  expect_status(dlcore_context_status(nullptr));
  EXPECT_STREQ(dlcore_context_error_message(nullptr), "");
  expect_null(dlcore_context_device(nullptr));
  expect_null(dlcore_context_engine(nullptr));
  expect_value(dlcore_context_set_recording(nullptr, 1), -1);
  expect_value(dlcore_context_set_training(nullptr, 1), -1);
  expect_value(dlcore_context_is_recording(nullptr), -1);
  expect_value(dlcore_error_code(nullptr), DLCORE_OK);
  EXPECT_STREQ(dlcore_error_message(nullptr), "");
  EXPECT_STREQ(dlcore_error_op(nullptr), "");
  expect_null(dlcore_error_cause(nullptr));
  expect_value(dlcore_engine_device_count(nullptr), 0);
  expect_null(dlcore_engine_device_name(nullptr, 0));
  expect_value(dlcore_graph_node_count(nullptr), -1);
  expect_null(dlcore_module_kind(nullptr));
  expect_null(dlcore_schedule_kind(nullptr));
  expect_null(dlcore_module_child(nullptr, 0));
  expect_null(dlcore_archive_name(nullptr, 0));
  expect_null(dlcore_checkpoint_create(nullptr));
  expect_null(dlcore_checkpoint_text(nullptr, "x"));
  expect_null(dlcore_checkpoint_warning(nullptr));
  expect_value(dlcore_archive_count(nullptr), -1);
  expect_value(dlcore_loader_samples(nullptr), -1);
  expect_value(dlcore_loader_batches(nullptr), -1);
  expect_value(dlcore_loader_epoch(nullptr), -1);
  expect_value(dlcore_op_call_needs_gradient(nullptr, 0), 0);
  expect_null(dlcore_op_call_output(nullptr, 0));
  expect_null(dlcore_op_call_gradient(nullptr, 0));
}

TEST_F(NullTest, CallsThatReturnNothing) {
  dlcore_engine_options_init(nullptr, 8);
  dlcore_grad_options_init(nullptr, 8);
  dlcore_engine_retain(nullptr);
  dlcore_engine_release(nullptr);
  dlcore_engine_close(nullptr);
  dlcore_engine_trim(nullptr);
  dlcore_engine_fail_allocation(nullptr, 1);
  dlcore_context_close(nullptr);
  dlcore_context_clear_error(nullptr);
  dlcore_context_cancel(nullptr);
  dlcore_error_release(nullptr);
  dlcore_tensor_retain(nullptr);
  dlcore_tensor_release(nullptr);
  dlcore_tensor_release_many(nullptr, 1);
  dlcore_variable_retain(nullptr);
  dlcore_variable_release(nullptr);
  dlcore_graph_retain(nullptr);
  dlcore_graph_release(nullptr);
  dlcore_executable_retain(nullptr);
  dlcore_executable_release(nullptr);
  dlcore_module_retain(nullptr);
  dlcore_module_release(nullptr);
  dlcore_optimizer_retain(nullptr);
  dlcore_optimizer_release(nullptr);
  dlcore_schedule_retain(nullptr);
  dlcore_schedule_release(nullptr);
  dlcore_loader_retain(nullptr);
  dlcore_loader_release(nullptr);
  dlcore_archive_retain(nullptr);
  dlcore_checkpoint_retain(nullptr);
  dlcore_checkpoint_release(nullptr);
  dlcore_archive_release(nullptr);
  for (dlcore_context* c : {static_cast<dlcore_context*>(nullptr), ctx_}) {
    dlcore_scope_reset(c, nullptr);
    dlcore_scope_close(c, nullptr);
    EXPECT_EQ(dlcore_scope_keep(c, nullptr), nullptr);
  }
  EXPECT_EQ(dlcore_capture_abort(nullptr), DLCORE_INVALID_ARGUMENT);
  expect_ok();
}

}  // namespace
}  // namespace dlcore::test
