// Softmax over positions in blocks. A block's part of one query is made from nothing: scores in f32, their maximum,
// exponentials, their sum, and the sum of values weighted with them; then the parts are joined in ascending order of blocks.

constant constexpr uint BLOCK = 64;

// The share of a query that a block adds.
struct Part {
    float peak;  // largest score
    float sum;   // of exp(score - peak)
};

// What the sums so far and those of a block are multiplied with to count at their common peak.
struct Weighing {
    float keep, add;
};

static inline float weigh(float peak, float common) {
    return peak == NEVER ? 0.0f : precise::exp(peak - common);
}

// join takes a block's part into total.
static inline Weighing join(thread Part &total, Part block) {
    const float common = max(total.peak, block.peak);
    Weighing w;
    w.keep = weigh(total.peak, common);
    w.add = weigh(block.peak, common);
    total.sum = fma(total.sum, w.keep, block.sum * w.add);
    total.peak = common;
    return w;
}

// softmax_block turns one query's scores into exponentials. All lanes return the part.
static inline Part softmax_block(threadgroup float *scores, uint lane) {
    const float a = scores[lane], b = scores[lane + LANES];
    Part part;
    part.peak = simd_max(max(a, b));
    const float x = weigh(a, part.peak), y = weigh(b, part.peak);
    scores[lane] = x;
    scores[lane + LANES] = y;
    part.sum = lane_sum(x + y);
    return part;
}
