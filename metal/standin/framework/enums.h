// enums.h - Apple's constants, as far as the stand-in uses them.
#pragma once

namespace standin {
enum CommandBufferStatus : unsigned long { kNotEnqueued, kEnqueued, kCommitted, kScheduled, kCompleted, kError };
enum CommandBufferError : long {
  kErrorInternal = 1,
  kErrorTimeout = 2,
  kErrorPageFault = 3,
  kErrorOutOfMemory = 8,
  kErrorDeviceRemoved = 11
};
enum LibraryError : long { kCompileFailure = 3, kFunctionNotFound = 5 };
enum DispatchType : unsigned long { kSerial, kConcurrent };
enum StorageMode : unsigned long { kShared, kManaged, kPrivate, kMemoryless };
enum BarrierScope : unsigned long { kScopeBuffers = 1 };
enum DataType : unsigned long { kFloat = 3, kInt = 29, kUInt = 33, kUShort = 41, kBool = 53 };
enum GPUFamily : long { kApple1 = 1001, kApple10 = 1010, kMetal3 = 5001, kMetal4 = 5002 };

constexpr unsigned long kMaxBindings = 31;  // [[buffer(n)]] and [[threadgroup(n)]]
constexpr unsigned long kMaxBytes = 4096;   // of setBytes:length:atIndex:
constexpr unsigned long kMaxInFlight = 64;  // command buffers of one queue that are not complete
}  // namespace standin
