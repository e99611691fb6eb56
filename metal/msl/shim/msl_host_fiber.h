// msl_host_fiber.h - switches between fibers: saves the callee-saved registers on the old stack and restores them from
// the new one. Part of msl_host_runtime.cpp.
#pragma once
#include "msl_host_rt.h"
#include <cstdint>
#include <cstring>

namespace msl_rt {
extern "C" {
void msl_switch(void **save, void *load);
void msl_fiber_start();
}

#if defined(__x86_64__)
asm(R"(
.text
.globl msl_switch
.hidden msl_switch
.type msl_switch,@function
msl_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size msl_switch,.-msl_switch
.globl msl_fiber_start
.hidden msl_fiber_start
.type msl_fiber_start,@function
msl_fiber_start:
  movq %r12, %rdi
  callq *%rbx
  ud2
.size msl_fiber_start,.-msl_fiber_start
)");
static void *fiber_frame(unsigned char *top, void (*main)(Lane *), Lane *lane) {
  void **sp = reinterpret_cast<void **>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15));
  *--sp = nullptr;
  *--sp = nullptr;                                     // keeps the stack 16-byte aligned at the call
  *--sp = reinterpret_cast<void *>(&msl_fiber_start);  // return address
  *--sp = nullptr;                                     // rbp
  *--sp = reinterpret_cast<void *>(main);              // rbx
  *--sp = lane;                                        // r12
  *--sp = nullptr;
  *--sp = nullptr;
  *--sp = nullptr;  // r13 r14 r15
  return sp;
}
#elif defined(__aarch64__)
asm(R"(
.text
.globl msl_switch
.hidden msl_switch
.type msl_switch,%function
msl_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.globl msl_fiber_start
.hidden msl_fiber_start
msl_fiber_start:
  mov x0, x20
  blr x19
  brk #1
)");
static void *fiber_frame(unsigned char *top, void (*main)(Lane *), Lane *lane) {
  void **sp = reinterpret_cast<void **>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15)) - 20;
  memset(sp, 0, 160);
  sp[0] = reinterpret_cast<void *>(main);               // x19
  sp[1] = lane;                                         // x20
  sp[11] = reinterpret_cast<void *>(&msl_fiber_start);  // x30
  return sp;
}
#else
#error "msl_host_runtime: write msl_switch for this processor"
#endif
}  // namespace msl_rt
