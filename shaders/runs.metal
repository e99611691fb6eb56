// Runs of routed experts: the blob of each.

constant constexpr uint RUNS = 8;

static inline device const uchar *blob_of(uint run, device const uchar *b0, device const uchar *b1,
                                           device const uchar *b2, device const uchar *b3, device const uchar *b4,
                                           device const uchar *b5, device const uchar *b6, device const uchar *b7) {
    switch (run) {
    case 0: return b0;
    case 1: return b1;
    case 2: return b2;
    case 3: return b3;
    case 4: return b4;
    case 5: return b5;
    case 6: return b6;
    default: return b7;
    }
}
