import json

import numpy as np

from pipelines.learn.steps import Lesson, Step, Values, as_json


def test_json_has_every_number_unrounded_and_no_infinity():
    matrix = np.array([[0.123456789, -1], [np.inf, np.nan]])
    step = Step(
        "A", "a = b", (Values("M", matrix, ("r", "s"), ("c", "d")), Values("n", 3, before=4.5)), "L", "T", ("|",)
    )
    document = json.loads(json.dumps(as_json(Lesson("title", "why?", (step,))), allow_nan=False))
    assert document["title"] == "title" and document["question"] == "why?"
    assert document["steps"] == [
        {
            "title": "A",
            "equation": "a = b",
            "layer": "L",
            "text": "T",
            "picture": ["|"],
            "command": "",
            "values": [
                {
                    "name": "M",
                    "numbers": [[0.123456789, -1.0], [None, None]],
                    "rows": ["r", "s"],
                    "columns": ["c", "d"],
                },
                {"name": "n", "numbers": 3, "before": 4.5},
            ],
        }
    ]
