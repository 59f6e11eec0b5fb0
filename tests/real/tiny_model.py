"""Writes a model in GGUF whose answers are fixed: it asks for `read` with notes.txt, and after a tool's result says "Two lines.".

    python tiny_model.py OUT.gguf

A real server loads it like any other: its weights are a table of which token follows which. It has one layer that adds nothing,
one-hot embeddings, and an output matrix whose column of a token points to the next one. What it is asked matters only by the
last token that its chat template writes.
"""

import sys

import numpy as np
from gguf import GGUFWriter, TokenType

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
CONTROL = ["<s>", "</s>", "<|first|>", "<|after|>"]
SAID = [
    "I read ",
    "it.\n",
    # In two: the server takes a token that is the whole mark for one of its own.
    "<tool_",
    "call>\n",
    '{"name": "read", ',
    '"arguments": {"path": ',
    '"notes.txt"}}',
    "\n</tool_",
    "call>",
    "Two ",
    "lines.",
]
TOKENS = ["<unk>", *CONTROL, *BYTES, *SAID]
NEXT = {
    "<|first|>": SAID[0],
    **dict(zip(SAID[:8], SAID[1:9])),
    "<|after|>": SAID[9],
    SAID[9]: SAID[10],
}

TEMPLATE = r"""
{%- if messages[0].role == 'system' %}{{ messages[0].content + '\n' }}{% endif -%}
{%- if tools %}You may call these functions:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' %}user: {{ message.content }}
{% elif message.role == 'assistant' %}assistant: {{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}</s>
{% elif message.role == 'tool' %}<tool_response>
{{ message.content }}
</tool_response>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}assistant: {{ '<|after|>' if messages[-1].role == 'tool' else '<|first|>' }}{% endif %}
"""


def main(path):
    ids = {token: at for at, token in enumerate(TOKENS)}
    width = -(-len(TOKENS) // 64) * 64
    embeddings = np.zeros((len(TOKENS), width), dtype=np.float32)
    output = np.zeros((len(TOKENS), width), dtype=np.float32)
    for token, at in ids.items():
        embeddings[at, at] = 1.0
        output[ids[NEXT.get(token, "</s>")], at] = 100.0

    writer = GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(131072)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(64)
    writer.add_head_count(width // 64)
    writer.add_head_count_kv(1)
    writer.add_rope_dimension_count(64)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token.encode() for token in TOKENS])
    writer.add_token_scores([0.0] * len(TOKENS))
    kinds = [TokenType.UNKNOWN] + [TokenType.CONTROL] * len(CONTROL)
    kinds += [TokenType.BYTE] * len(BYTES) + [TokenType.USER_DEFINED] * len(SAID)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(ids["<s>"])
    writer.add_eos_token_id(ids["</s>"])
    writer.add_unk_token_id(0)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE.strip())

    def zeros(*shape):
        return np.zeros(shape, dtype=np.float32)

    ones = np.ones(width, dtype=np.float32)
    writer.add_tensor("token_embd.weight", embeddings)
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", output)
    writer.add_tensor("blk.0.attn_norm.weight", ones)
    writer.add_tensor("blk.0.attn_q.weight", zeros(width, width))
    writer.add_tensor("blk.0.attn_k.weight", zeros(64, width))
    writer.add_tensor("blk.0.attn_v.weight", zeros(64, width))
    writer.add_tensor("blk.0.attn_output.weight", zeros(width, width))
    writer.add_tensor("blk.0.ffn_norm.weight", ones)
    writer.add_tensor("blk.0.ffn_gate.weight", zeros(64, width))
    writer.add_tensor("blk.0.ffn_up.weight", zeros(64, width))
    writer.add_tensor("blk.0.ffn_down.weight", zeros(width, 64))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main(sys.argv[1])
