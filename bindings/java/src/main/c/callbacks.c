/* SPDX-License-Identifier: Apache-2.0
 * One function for each kind of callback of the C API. Each hands its user_data, which is an
 * integer, to a static method of Callbacks.java, which finds the object behind it. No exception
 * comes back: Java keeps it, and answers with a code. */
#include <dlcore/dlcore.h>
#include <jni.h>
#include <stddef.h>

static JavaVM *vm;
static jclass callbacks;
static jmethodID on_op, on_write, on_read, on_function, on_destroy, on_module;

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *loaded, void *reserved) {
  JNIEnv *env;
  jclass found;
  (void)reserved;
  vm = loaded;
  if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_10) != JNI_OK) return JNI_ERR;
  found = (*env)->FindClass(env, "org/dlcore/internal/Callbacks");
  callbacks = found ? (*env)->NewGlobalRef(env, found) : NULL;
  if (!callbacks) return JNI_ERR;
  on_op = (*env)->GetStaticMethodID(env, callbacks, "op", "(JIJJ)I");
  on_write = (*env)->GetStaticMethodID(env, callbacks, "write", "(JJJ)I");
  on_read = (*env)->GetStaticMethodID(env, callbacks, "read", "(JJJ)J");
  on_function = (*env)->GetStaticMethodID(env, callbacks, "function", "(JJJJJ)I");
  on_destroy = (*env)->GetStaticMethodID(env, callbacks, "destroy", "(J)V");
  on_module = (*env)->GetStaticMethodID(env, callbacks, "module", "(JJJJ)I");
  return on_op && on_write && on_read && on_function && on_destroy && on_module ? JNI_VERSION_10
                                                                                : JNI_ERR;
}

/* The environment of the calling thread, which is one of Java's but when the engine destroys. */
static JNIEnv *environment(void) {
  JNIEnv *env = NULL;
  if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_10) == JNI_EDETACHED)
    (*vm)->AttachCurrentThreadAsDaemon(vm, (void **)&env, NULL);
  return env;
}

/* Java keeps what is thrown; only what is thrown while it does so can be left, and must not stay.
 */
static int failed(JNIEnv *env) {
  if (!(*env)->ExceptionCheck(env)) return 0;
  (*env)->ExceptionClear(env);
  return 1;
}

static jlong number(const void *pointer) { return (jlong)(intptr_t)pointer; }

static dlcore_status call_op(void *id, int which, dlcore_context *child, dlcore_op_call *call) {
  JNIEnv *env = environment();
  dlcore_status status = DLCORE_INTERNAL;
  if (env)
    status = (*env)->CallStaticIntMethod(env, callbacks, on_op, number(id), which, number(child),
                                         number(call));
  return env && failed(env) ? DLCORE_INTERNAL : status;
}

static dlcore_status infer(void *id, dlcore_context *child, dlcore_op_call *call) {
  return call_op(id, 0, child, call);
}

static dlcore_status forward(void *id, dlcore_context *child, dlcore_op_call *call) {
  return call_op(id, 1, child, call);
}

static dlcore_status backward(void *id, dlcore_context *child, dlcore_op_call *call) {
  return call_op(id, 2, child, call);
}

static dlcore_status write_bytes(void *id, const void *data, uint64_t size) {
  JNIEnv *env = environment();
  dlcore_status status = DLCORE_INTERNAL;
  if (env)
    status = (*env)->CallStaticIntMethod(env, callbacks, on_write, number(id), number(data),
                                         (jlong)size);
  return env && failed(env) ? DLCORE_INTERNAL : status;
}

static int64_t read_bytes(void *id, void *buffer, uint64_t size) {
  JNIEnv *env = environment();
  int64_t count = -DLCORE_INTERNAL;
  if (env)
    count = (*env)->CallStaticLongMethod(env, callbacks, on_read, number(id), number(buffer),
                                         (jlong)size);
  return env && failed(env) ? -DLCORE_INTERNAL : count;
}

static dlcore_status function(void *id, dlcore_context *ctx, dlcore_tensor *const *inputs,
                              int64_t n_inputs, dlcore_tensor **output) {
  JNIEnv *env = environment();
  dlcore_status status = DLCORE_INTERNAL;
  if (env)
    status = (*env)->CallStaticIntMethod(env, callbacks, on_function, number(id), number(ctx),
                                         number(inputs), (jlong)n_inputs, number(output));
  return env && failed(env) ? DLCORE_INTERNAL : status;
}

static dlcore_status module(void *id, dlcore_context *child, dlcore_module *called,
                            dlcore_op_call *call) {
  JNIEnv *env = environment();
  dlcore_status status = DLCORE_INTERNAL;
  if (env)
    status = (*env)->CallStaticIntMethod(env, callbacks, on_module, number(id), number(child),
                                         number(called), number(call));
  return env && failed(env) ? DLCORE_INTERNAL : status;
}

static void destroy(void *id) {
  JNIEnv *env = environment();
  if (!env) return;
  (*env)->CallStaticVoidMethod(env, callbacks, on_destroy, number(id));
  failed(env);
}

/* By the numbers of Callbacks.java. */
JNIEXPORT jlong JNICALL Java_org_dlcore_internal_Native_callback(JNIEnv *env, jclass type,
                                                                 jint kind) {
  (void)env, (void)type;
  switch (kind) {
    case 0:
      return (jlong)(intptr_t)&infer;
    case 1:
      return (jlong)(intptr_t)&forward;
    case 2:
      return (jlong)(intptr_t)&backward;
    case 3:
      return (jlong)(intptr_t)&write_bytes;
    case 4:
      return (jlong)(intptr_t)&read_bytes;
    case 5:
      return (jlong)(intptr_t)&function;
    case 6:
      return (jlong)(intptr_t)&destroy;
    case 7:
      return (jlong)(intptr_t)&module;
    default:
      return 0;
  }
}
