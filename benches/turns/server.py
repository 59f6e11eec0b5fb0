"""An MCP server for measuring: answers its handshake so many milliseconds after it is asked, and a call at once."""
import json
import sys
import time

for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "initialize":
        time.sleep(int(sys.argv[1]) / 1000)
        result = {
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "bench", "version": "1"},
        }
    elif request["method"] == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        result = {"tools": [{"name": "echo", "description": "Says it again.", "inputSchema": schema}]}
    elif request["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": request["params"]["arguments"]["text"]}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
