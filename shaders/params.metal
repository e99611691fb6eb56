// Generated from params.go: go test ./shaders -update

struct Matrix {
    uint codes;
    uint scales;
    uint biases;
};

struct NormParams {
    uint width;
    float eps;
    uint weight;
    uint weighted;
};

struct RouterInputParams {
    uint width;
    float eps;
    uint scale;
    uint weight;
    float factor;
};

struct TailParams {
    uint width;
    uint top_k;
    float eps;
    uint post_shared;
    uint post_routed;
    uint post_ffn;
    float scalar;
};

struct EmbedParams {
    Matrix table;
    uint width;
    float factor;
};

struct AffineParams {
    Matrix matrix[3];
    uint ends[3];
    uint inputs;
    uint outputs;
    uint rows;
    uint x_stride;
    uint y_stride;
    float limit;
};

struct GegluParams {
    Matrix gate;
    Matrix up;
    uint inputs;
    uint outputs;
    uint rows;
};

struct ExpertParams {
    Matrix gate;
    Matrix up;
    Matrix down;
    uint inputs;
    uint outputs;
    uint top_k;
    uint first[9];
};

struct HeadsParams {
    uint heads;
    uint kv_heads;
    uint width;
    uint pairs;
    uint stride;
    uint key_at;
    uint value_at;
    uint query_norm;
    uint key_norm;
    uint pos;
    uint kv_rows;
    float eps;
};

struct AttendParams {
    uint rows;
    uint kv_heads;
    uint group;
    uint stride;
    uint pos;
    uint window;
    uint kv_rows;
    uint first_block;
    uint blocks;
};

struct ChooseParams {
    uint rows;
    uint experts;
    uint top_k;
    uint per_expert;
};

struct PositionParams {
    uint table;
    uint width;
    uint rows;
    uint grid_width;
};

struct TowerHeadsParams {
    uint heads;
    uint width;
    uint grid_width;
    uint query_norm;
    uint key_norm;
    float eps;
};

struct PoolParams {
    uint width;
    uint grid_width;
    uint side;
    uint bias;
    uint scale;
    float root;
};

struct DenseParams {
    uint weight;
    uint inputs;
    uint outputs;
    uint rows;
};

struct TowerAttendParams {
    uint patches;
    uint heads;
};
