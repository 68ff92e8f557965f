"""Imported once by the process of tests/forked.py, before it forks: TensorFlow, and all modules of the pipelines."""

import os
import pkgutil

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow  # noqa: E402, F401
import tensorflow_text  # noqa: E402, F401

import main  # noqa: E402, F401
import pipelines  # noqa: E402

for _module in pkgutil.walk_packages(pipelines.__path__, "pipelines."):
    __import__(_module.name)
