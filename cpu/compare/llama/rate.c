/* rate measures llama.cpp on one model as `fieldfare bench` measures fieldfare: a prompt of random tokens in one batch,
 * then greedy decoding, token by token. It links the CPU libraries that npm ships (build.sh) and prints one JSON object a
 * pass. Knobs are at llama.cpp's defaults, with the thread pool that its own llama-bench uses. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "llama.h"

static void fail(const char *what) {
    fprintf(stderr, "rate: %s\n", what);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void log_errors(enum ggml_log_level level, const char *text, void *unused) {
    (void)unused;
    if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static int positive(const char *text) {
    char *end;
    long n = strtol(text, &end, 10);
    if (*text == 0 || *end != 0 || n < 1 || n > 1 << 20) fail("counts are whole numbers from 1 on");
    return (int)n;
}

/* A pool that lives as long as the context: without one, threads are made anew for every token. */
static ggml_threadpool_t new_pool(int threads) {
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (!cpu) fail("no CPU backend lies beside this program");
    ggml_threadpool_t (*make)(struct ggml_threadpool_params *) = (ggml_threadpool_t(*)(struct ggml_threadpool_params *))
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu), "ggml_threadpool_new");
    struct ggml_threadpool_params params = ggml_threadpool_params_default(threads);
    ggml_threadpool_t pool = make ? make(&params) : NULL;
    if (!pool) fail("no thread pool");
    return pool;
}

static void decode(struct llama_context *ctx, llama_token *tokens, int n) {
    if (llama_decode(ctx, llama_batch_get_one(tokens, n)) != 0) fail("llama_decode failed");
    llama_synchronize(ctx);
}

/* The likeliest next token. A logit that is no finite number ends the program: such a model measures nothing. */
static llama_token likeliest(struct llama_context *ctx, int vocab) {
    const float *logits = llama_get_logits_ith(ctx, -1);
    llama_token best = 0;
    for (llama_token i = 0; i < vocab; i++) {
        if (!isfinite(logits[i])) fail("a logit is not finite");
        if (logits[i] > logits[best]) best = i;
    }
    return best;
}

static void pass(struct llama_context *ctx, int vocab, llama_token *tokens, int prompt, int fresh, double load) {
    llama_memory_clear(llama_get_memory(ctx), false);
    double start = now();
    decode(ctx, tokens, prompt);
    double between = now();
    llama_token token = likeliest(ctx, vocab);
    for (int i = 0; i < fresh; i++) {
        decode(ctx, &token, 1);
        token = likeliest(ctx, vocab);
    }
    double end = now();
    printf("{\"load_seconds\":%.3f,\"prompt\":%d,\"prompt_seconds\":%.6f,\"new\":%d,\"decode_seconds\":%.6f}\n", load, prompt,
           between - start, fresh, end - between);
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc != 7 || (strcmp(argv[2], "repacked") && strcmp(argv[2], "mapped"))) {
        fail("usage: rate MODEL.gguf repacked|mapped THREADS PROMPT NEW PASSES");
    }
    int repacked = argv[2][0] == 'r';
    int threads = positive(argv[3]), prompt = positive(argv[4]), fresh = positive(argv[5]), passes = positive(argv[6]);
    llama_log_set(log_errors, NULL);
    ggml_backend_load_all();
    llama_backend_init();
    fprintf(stderr, "%s\n", llama_print_system_info());

    double start = now();
    struct llama_model_params mp = llama_model_default_params();
    mp.load_mode = repacked ? LLAMA_LOAD_MODE_NONE : LLAMA_LOAD_MODE_MMAP;
    mp.use_extra_bufts = repacked;
    struct llama_model *model = llama_model_load_from_file(argv[1], mp);
    if (!model) fail("the model cannot be loaded");
    struct llama_context_params cp = llama_context_default_params();
    cp.n_ctx = prompt + fresh;
    cp.n_threads = cp.n_threads_batch = threads;
    struct llama_context *ctx = llama_init_from_model(model, cp);
    if (!ctx) fail("no context");
    ggml_threadpool_t pool = new_pool(threads);
    llama_attach_threadpool(ctx, pool, NULL);
    double load = now() - start;

    int vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    llama_token *tokens = malloc(prompt * sizeof *tokens);
    if (!tokens) fail("out of memory");
    srand48(prompt);
    for (int i = 0; i < prompt; i++) tokens[i] = (llama_token)(drand48() * vocab);
    for (int i = 0; i < passes; i++) pass(ctx, vocab, tokens, prompt, fresh, load);
    return 0; /* the system frees faster */
}
