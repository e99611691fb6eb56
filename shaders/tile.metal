// Tiles of queries of one KV head: rows and the heads of the group, heads fastest.

// What a tile is about. Queries from count on do not exist.
struct Tile {
    uint first, count;  // queries within the KV head: row * heads per KV head + head
    uint low, high;     // positions that any of its rows sees
};

static inline uint row_low(constant AttendParams &p, uint row) {
    const uint end = p.pos + row + 1;
    return p.window != 0 && end > p.window ? end - p.window : 0;
}

template <uint SIZE>
static inline Tile tile_of(constant AttendParams &p, device const uint *ends, uint index) {
    Tile t;
    t.first = index * SIZE;
    t.count = min(SIZE, p.rows * p.group - t.first);
    t.low = row_low(p, t.first / p.group);
    t.high = 0;
    for (uint i = 0; i < t.count; ++i) {
        t.high = max(t.high, ends[(t.first + i) / p.group]);
    }
    return t;
}

// query_at is where query i of a tile begins in q, which is [N, stride].
static inline ulong query_at(constant AttendParams &p, Tile t, uint kv_head, uint i, uint width) {
    const uint query = t.first + min(i, t.count - 1);
    return ulong(query / p.group) * p.stride + (kv_head * p.group + query % p.group) * width;
}
