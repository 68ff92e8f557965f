from pipelines.labelled.examples import example_texts


def test_examples_have_unusual_texts():
    texts = example_texts()
    assert "" in texts and any(not text.isascii() for text in texts) and any(len(text) > 2000 for text in texts)
