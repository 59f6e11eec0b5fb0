"""Serves a model with llama.cpp's own HTTP server, as the package xllamacpp brings it: python serve_tiny.py MODEL.gguf PORT"""

import sys
import threading

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.port = int(sys.argv[2])
params.n_ctx = 65536
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.use_jinja = True
params.warmup = False
server = xllamacpp.Server(params)
threading.Event().wait()
