/* SPDX-License-Identifier: Apache-2.0
 * The calls that are made most often, with scalars only, and memory outside of the Java heap.
 * Everything else goes through the raw layer that SWIG writes. */
#include <dlcore/dlcore.h>
#include <jni.h>
#include <stdlib.h>
#include <string.h>

#define NATIVE(returns, name) JNIEXPORT returns JNICALL Java_org_dlcore_internal_Native_##name

#define TENSOR(address) ((dlcore_tensor *)(intptr_t)(address))
#define CONTEXT(address) ((dlcore_context *)(intptr_t)(address))
#define WORDS(address) ((const int64_t *)(intptr_t)(address))
#define RESULT(pointer) ((jlong)(intptr_t)(pointer))

/* ---- Ops ----------------------------------------------------------------------------------- */

NATIVE(jlong, call0)
(JNIEnv *env, jclass type, jlong ctx, jint op, jlong attrs, jint n) {
  (void)env, (void)type;
  return RESULT(dlcore_op_call0(CONTEXT(ctx), op, WORDS(attrs), n));
}

NATIVE(jlong, call1)
(JNIEnv *env, jclass type, jlong ctx, jint op, jlong a, jlong attrs, jint n) {
  (void)env, (void)type;
  return RESULT(dlcore_op_call1(CONTEXT(ctx), op, TENSOR(a), WORDS(attrs), n));
}

NATIVE(jlong, call2)
(JNIEnv *env, jclass type, jlong ctx, jint op, jlong a, jlong b, jlong attrs, jint n) {
  (void)env, (void)type;
  return RESULT(dlcore_op_call2(CONTEXT(ctx), op, TENSOR(a), TENSOR(b), WORDS(attrs), n));
}

NATIVE(jlong, call3)
(JNIEnv *env, jclass type, jlong ctx, jint op, jlong a, jlong b, jlong c, jlong attrs, jint n) {
  (void)env, (void)type;
  return RESULT(
      dlcore_op_call3(CONTEXT(ctx), op, TENSOR(a), TENSOR(b), TENSOR(c), WORDS(attrs), n));
}

NATIVE(jlong, callScalar)
(JNIEnv *env, jclass type, jlong ctx, jint op, jlong x, jint kind, jlong word, jint side) {
  (void)env, (void)type;
  return RESULT(dlcore_op_call_scalar(CONTEXT(ctx), op, TENSOR(x), kind, word, side));
}

NATIVE(jint, invoke)
(JNIEnv *env, jclass type, jlong ctx, jint op, jlong inputs, jint n_inputs, jlong attrs,
 jint n_words, jlong outputs, jint n_outputs) {
  (void)env, (void)type;
  return dlcore_op_invoke(CONTEXT(ctx), op, (dlcore_tensor *const *)(intptr_t)inputs, n_inputs,
                          WORDS(attrs), n_words, (dlcore_tensor **)(intptr_t)outputs, n_outputs, 0);
}

NATIVE(void, release)(JNIEnv *env, jclass type, jlong tensor) {
  (void)env, (void)type;
  dlcore_tensor_release(TENSOR(tensor));
}

/* ---- Memory -------------------------------------------------------------------------------- */

/* 0 when there is none. */
NATIVE(jlong, allocate)(JNIEnv *env, jclass type, jlong bytes) {
  (void)env, (void)type;
  return bytes < 0 ? 0 : RESULT(malloc(bytes ? (size_t)bytes : 1));
}

NATIVE(void, free)(JNIEnv *env, jclass type, jlong address) {
  (void)env, (void)type;
  free((void *)(intptr_t)address);
}

NATIVE(jobject, view)(JNIEnv *env, jclass type, jlong address, jlong bytes) {
  (void)type;
  return (*env)->NewDirectByteBuffer(env, (void *)(intptr_t)address, bytes);
}

/* Of the first element, whatever the position; 0 when it is not direct. */
NATIVE(jlong, address)(JNIEnv *env, jclass type, jobject buffer) {
  (void)type;
  return RESULT((*env)->GetDirectBufferAddress(env, buffer));
}

/* Between an array and memory: `count` elements from element `from` on. Java has checked the range.
 */
#define COPIES(Kind, kind)                                                                       \
  NATIVE(void, store##Kind)                                                                      \
  (JNIEnv * env, jclass type, j##kind##Array array, jint from, jint count, jlong address) {      \
    (void)type;                                                                                  \
    (*env)->Get##Kind##ArrayRegion(env, array, from, count, (j##kind *)(intptr_t)address);       \
  }                                                                                              \
  NATIVE(void, load##Kind)                                                                       \
  (JNIEnv * env, jclass type, j##kind##Array array, jint from, jint count, jlong address) {      \
    (void)type;                                                                                  \
    (*env)->Set##Kind##ArrayRegion(env, array, from, count, (const j##kind *)(intptr_t)address); \
  }

COPIES(Boolean, boolean)
COPIES(Byte, byte)
COPIES(Short, short)
COPIES(Int, int)
COPIES(Long, long)
COPIES(Float, float)
COPIES(Double, double)
