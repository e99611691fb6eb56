// msl_host_tensor.h - the part of Metal 4's tensors and of mpp::tensor_ops::matmul2d that our kernels use, as Apple's
// header documents it: plain loops. What the documentation leaves to the implementation is chosen to expose code that
// relies on it: which thread of the scope holds which element, elements that are not valid, contents before the first
// write. Included by msl_host.h.
#pragma once

namespace metal {
template <class I, int Rank> struct dextents {
  I extent[Rank];
  template <class... N> MSL_FN explicit dextents(N... n) : extent{I(n)...} { static_assert(sizeof...(N) == Rank, ""); }
};
struct tensor_inline {};

// A dense view of memory that it does not own; dimension 0 is that of neighbours.
template <class T, class Extents, class Kind> struct tensor;
template <class T, class I> struct tensor<T, dextents<I, 2>, tensor_inline> {
  T *data;
  dextents<I, 2> extents;
  MSL_FN tensor(T *p, dextents<I, 2> e) : data(p), extents(e) {}
  MSL_FN bool inside(int x, int y) const {
    return x >= 0 && y >= 0 && x < int(extents.extent[0]) && y < int(extents.extent[1]);
  }
  MSL_FN T &at(int x, int y) const { return data[ulong(y) * ulong(extents.extent[0]) + ulong(x)]; }
  MSL_FN T read(int x, int y) const { return inside(x, y) ? at(x, y) : T(0.0f); }
};

template <int N> struct execution_simdgroups {
  static constexpr int threads = N * MSL_SIMD_WIDTH;
};
}  // namespace metal

namespace mpp::tensor_ops {
// A descriptor is a number here, so that it can be a template argument in C++17; its name is that of a class too.
struct matmul2d_descriptor {
  struct mode {
    enum kind { multiply, multiply_accumulate };
  };
};
constexpr ulong matmul2d_descriptor(int m, int n, int k, bool transpose_left = false, bool transpose_right = false,
                                    bool relaxed_precision = false,
                                    matmul2d_descriptor::mode::kind mode = matmul2d_descriptor::mode::multiply) {
  return ulong(m) | ulong(n) << 16 | ulong(k) << 32 | ulong(transpose_left) << 48 | ulong(transpose_right) << 49 |
         ulong(relaxed_precision) << 50 | ulong(mode) << 51;
}
}  // namespace mpp::tensor_ops

namespace msl {
template <ulong D, class Scope> struct product_shape {
  static constexpr int m = int(D & 0xFFFF), n = int(D >> 16 & 0xFFFF), k = int(D >> 32 & 0xFFFF);
  static constexpr bool transpose_left = D >> 48 & 1, transpose_right = D >> 49 & 1;
  static constexpr bool accumulate = D >> 51 & 1;
  static_assert(m % 16 == 0 || n % 16 == 0, "matmul2d: m or n must be a multiple of 16");
  static_assert(k % 16 == 0, "matmul2d: k must be a multiple of 16");
  static_assert(m > 0 && n > 0 && k > 0, "matmul2d: the emulator covers fixed m, n and k");
  static_assert(!transpose_left, "matmul2d: the emulator covers left operands that are not transposed");
};

// The destination of a product, [m, n], spread over the threads of its scope. Each thread has one element more than it
// needs, which is not valid; the others lie as far apart as they can.
template <class T, class Shape, class Scope> struct product_tensor {
  static constexpr int count = Shape::m * Shape::n, share = (count + Scope::threads - 1) / Scope::threads;
  T element[share + 1];
  MSL_FN product_tensor() {
    for (int i = 0; i <= share; ++i) element[i] = T(__builtin_nanf(""));
  }
  MSL_FN ushort get_capacity() const { return ushort(share + 1); }
  MSL_FN T &operator[](ushort i) { return element[i]; }
  MSL_FN static int place(int i) { return i < share ? i * Scope::threads + int(msl_rt::msl_current->index) : count; }
  template <class E, class I> MSL_FN void store(const ::metal::tensor<E, ::metal::dextents<I, 2>, ::metal::tensor_inline> &t) const {
    for (int i = 0; i < share; ++i) {
      const int e = place(i), x = e % Shape::n, y = e / Shape::n;
      if (e < count && t.inside(x, y)) t.at(x, y) = E(element[i]);
    }
  }
};
}  // namespace msl

namespace mpp::tensor_ops {
template <ulong D, class Scope> struct matmul2d {
  using shape = ::msl::product_shape<D, Scope>;
  template <class Left, class Right, class T> MSL_FN auto get_destination_cooperative_tensor() const {
    return ::msl::product_tensor<T, shape, Scope>();
  }
  // All threads of the scope come here together; that orders no memory.
  template <class Left, class Right, class T>
  MSL_FN void run(Left &left, Right &right, ::msl::product_tensor<T, shape, Scope> &sum, MSL_SITE) const {
    if (msl_rt::msl_current->group->threads != unsigned(Scope::threads))
      msl_rt::msl_fail("matmul2d for %d threads in a threadgroup of %u", Scope::threads, msl_rt::msl_current->group->threads);
    ::metal::threadgroup_barrier(::metal::mem_flags::mem_none, at);
    for (int i = 0; i < sum.share; ++i) {
      const int e = sum.place(i), x = e % shape::n, y = e / shape::n;
      if (e >= sum.count) continue;
      float total = 0.0f;
      for (int k = 0; k < shape::k; ++k)
        total = __builtin_fmaf(float(left.read(k, y)), float(shape::transpose_right ? right.read(k, x) : right.read(x, k)), total);
      sum.element[i] = shape::accumulate ? T(float(sum.element[i]) + total) : T(total);
    }
  }
};
}  // namespace mpp::tensor_ops
