"""Other implementations (peers) of mgtune's operators: PyTorch's own, torch.compile, and the packages Liger and flash-attn.

peers_of(operator) names them without importing any. calls_of(torch, peer, operator, problem, sets) makes callables that enqueue the work
on torch's current stream and return the outputs. Gradients are those of torch.autograd.grad.
"""
import dataclasses
import importlib.metadata
import importlib.util

EPS = 1e-6
DTYPES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}
PACKAGES = {"torch": "torch", "Liger": "liger_kernel", "flash-attn": "flash_attn"}  # how each is imported
NORMS = ("rmsnorm.forward", "rmsnorm.backward")
ADDED_NORMS = ("rmsnorm.add_forward", "rmsnorm.add_backward")
GATES = ("swiglu.forward", "swiglu.backward")
PACKED_GATES = ("swiglu.packed_forward",)
PRODUCTS = ("gemm.forward", "swiglu.gate_up")
ATTENTION = ("attention.prefill", "attention.backward", "attention.decode", "attention.varlen")
OPERATORS = NORMS + ADDED_NORMS + GATES + PACKED_GATES + PRODUCTS + ATTENTION


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    package: str = "torch"
    is_compiled: bool = False


EAGER, COMPILED = Peer("eager PyTorch"), Peer("torch.compile", is_compiled=True)
LIGER, FLASH_ATTN = Peer("Liger", "Liger"), Peer("flash-attn", "flash-attn")
FLASH, CUDNN, FOLDED = Peer("SDPA flash"), Peer("SDPA cuDNN"), Peer("SDPA cuDNN folded")


def installed(packages=None):
    """Version of each installed package of PACKAGES."""
    versions = {}
    for name, module in (packages or PACKAGES).items():
        if importlib.util.find_spec(module) is not None:
            try:
                versions[name] = importlib.metadata.version(module)
            except importlib.metadata.PackageNotFoundError:
                versions[name] = ""
    return versions


def peers_of(operator):
    """The peers of an operator. The first one is the easiest to trust: the outputs of the others are compared with its outputs."""
    if operator in NORMS:
        return [EAGER, Peer("F.rms_norm"), LIGER, COMPILED]
    if operator in ADDED_NORMS + GATES:
        return [EAGER, LIGER, COMPILED]
    if operator in PACKED_GATES + PRODUCTS:
        return [EAGER, COMPILED]
    if operator in ("attention.prefill", "attention.backward"):
        return [FLASH, CUDNN, FLASH_ATTN]
    if operator == "attention.decode":
        return [FLASH, CUDNN, FOLDED, FLASH_ATTN]
    if operator == "attention.varlen":
        return [FLASH, FLASH_ATTN]
    raise ValueError(f"no peers of {operator} are known; known operators: {', '.join(OPERATORS)}")


def lengths_of(problem):
    """Lengths of the packed sequences: as even as the problem allows."""
    each, more = divmod(problem["tokens_q"], problem["sequences"])
    return [each + (i < more) for i in range(problem["sequences"])]


def inputs_of(torch, operator, problem, device="cuda"):
    """One set of random inputs, and the gradients of the outputs. Both are tuples of tensors."""
    dtype = getattr(torch, DTYPES[problem["T"]])

    def random(*shape):
        return torch.randn(*shape, device=device, dtype=dtype)

    if operator == "attention.varlen":
        starts = torch.tensor([0, *lengths_of(problem)]).cumsum(0).to(device=device, dtype=torch.int32)
        heads = (problem["heads"], problem["kv_heads"], problem["kv_heads"])
        return (*(random(problem["tokens_q"], count, problem["head_dim"]) for count in heads), starts), ()
    if operator in ATTENTION:
        rows = (problem["q_len"], problem["kv_len"]) if operator == "attention.decode" else (problem["seq_q"], problem["seq_k"])
        q = random(problem["batch"], rows[0], problem["heads"], problem["head_dim"])
        grads = (torch.randn_like(q),) if operator == "attention.backward" else ()
        return (q, *(random(problem["batch"], rows[1], problem["kv_heads"], problem["head_dim"]) for _ in "kv")), grads
    if operator in PRODUCTS:
        weights = [random(problem["n"], problem["k"]).mul_(0.02) for _ in range(1 if operator == "gemm.forward" else 2)]
        return (random(problem["m"], problem["k"]), *weights), ()
    rows, hidden = problem["rows"], problem["hidden"]
    grads = tuple(random(rows, hidden) for _ in range(2 if operator in ADDED_NORMS else 1)) if operator.endswith("backward") else ()
    if operator in PACKED_GATES:
        return (random(rows, 2 * hidden),), grads
    if operator in GATES:
        return (random(rows, hidden), random(rows, hidden)), grads
    weight = (1 + 0.02 * torch.randn(hidden, device=device)).to(dtype)
    residual = (random(rows, hidden),) if operator in ADDED_NORMS else ()
    return (random(rows, hidden), *residual, weight), grads


def formula_of(torch, peer, operator):
    """The function of the inputs without a gradient, for everything but attention."""
    rms_norm, silu, linear = torch.nn.functional.rms_norm, torch.nn.functional.silu, torch.nn.functional.linear

    def written_norm(x, weight):
        wide = x.float()
        return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)).to(x.dtype)

    def norm(x, weight):
        return rms_norm(x, (x.shape[-1],), weight, EPS)

    def added_norm(x, residual, weight):
        total = x + residual
        return norm(total, weight), total

    def gate(gate, up):
        return silu(gate) * up

    def packed_gate(both):
        half = both.shape[-1] // 2
        return silu(both[..., :half]) * both[..., half:]

    def gate_up(x, gate_weight, up_weight):
        return silu(linear(x, gate_weight)) * linear(x, up_weight)

    if peer == LIGER:
        if operator in NORMS:
            from liger_kernel.ops.rms_norm import LigerRMSNormFunction
            return lambda x, weight: LigerRMSNormFunction.apply(x, weight, EPS, 0.0, "llama", False)
        if operator in ADDED_NORMS:
            from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction
            return lambda x, residual, weight: LigerFusedAddRMSNormFunction.apply(x, residual, weight, EPS, 0.0, "llama", False)
        from liger_kernel.ops.swiglu import LigerSiLUMulFunction
        return LigerSiLUMulFunction.apply
    if operator in NORMS:
        function = written_norm if peer == EAGER else norm
    elif operator in ADDED_NORMS:
        function = added_norm
    elif operator in PRODUCTS:
        function = linear if operator == "gemm.forward" else gate_up
    else:
        function = packed_gate if operator in PACKED_GATES else gate
    return torch.compile(function, dynamic=False) if peer.is_compiled else function


def attention_call(torch, peer, operator, problem, q, k, v, *starts):
    """A call of attention. For attention.backward it is the call whose gradients are wanted."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    causal = problem.get("causal", False)
    longest = problem.get("max_q")
    if peer == FLASH_ATTN:
        import flash_attn
        if operator == "attention.varlen":
            return lambda: flash_attn.flash_attn_varlen_func(q, k, v, *starts, *starts, longest, longest, causal=causal)
        if operator == "attention.decode":
            return lambda: flash_attn.flash_attn_with_kvcache(q, k, v, cache_seqlens=k.shape[1])
        return lambda: flash_attn.flash_attn_func(q, k, v, causal=causal)
    if operator == "attention.varlen":
        flash = torch.ops.aten._flash_attention_forward
        scale = problem["head_dim"] ** -0.5
        return lambda: flash(q, k, v, *starts, *starts, longest, longest, 0.0, causal, False, scale=scale)[0]
    backend = SDPBackend.FLASH_ATTENTION if peer == FLASH else SDPBackend.CUDNN_ATTENTION
    batch, _, heads, head_dim = q.shape
    kv_heads = k.shape[2]
    folded = peer == FOLDED  # the query heads that share a head of keys are rows of one head
    rows = q.view(batch, kv_heads, heads // kv_heads, head_dim) if folded else q.transpose(1, 2)
    k, v = k.transpose(1, 2), v.transpose(1, 2)

    def call():
        with sdpa_kernel(backend):
            o = torch.nn.functional.scaled_dot_product_attention(rows, k, v, is_causal=causal,
                                                                 enable_gqa=not folded and heads != kv_heads)
        return o.reshape(q.shape) if folded else o.transpose(1, 2)
    return call


def calls_of(torch, peer, operator, problem, sets):
    """One callable for each set of inputs_of()."""
    if operator in ATTENTION and operator != "attention.backward":
        return [attention_call(torch, peer, operator, problem, *inputs) for inputs, _ in sets]
    if operator == "attention.backward":
        def function(*inputs):
            return attention_call(torch, peer, operator, problem, *inputs)()
    else:
        function = formula_of(torch, peer, operator)
    if not operator.endswith("backward"):
        return [lambda inputs=inputs: function(*inputs) for inputs, _ in sets]
    calls = []
    with torch.enable_grad():
        for inputs, grads in sets:
            leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
            wanted = leaves
            if operator in ADDED_NORMS:  # the gradients of x and of the residual are the same
                leaves[1].requires_grad_(False)
                wanted = [leaves[0], leaves[2]]
            outputs = function(*leaves)
            calls.append(lambda outputs=outputs, wanted=wanted, grads=grads:
                         torch.autograd.grad(outputs, wanted, grads, retain_graph=True))
    return calls
