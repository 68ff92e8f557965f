"""Files of tagged sentences."""

from pipelines.data import sample_tags


def write_sample(path, count, first=0, per_document=6):
    """Writes sentences of the embedded sample as CoNLL-U, each `per_document` of them in a document."""
    tokens, tags, *_ = sample_tags.generate()["train"]
    lines = []
    for i in range(first, first + count):
        if per_document and (i - first) % per_document == 0:
            lines.append("# newdoc")
        for number, (token, tag) in enumerate(zip(tokens[i], tags[i], strict=True), 1):
            lines.append("\t".join([str(number), token, "x", tag, *"_" * 6]))
        lines.append("")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def write_columns(path, sentences):
    """Writes sentences, lists of (token, tag), with tabs between token and tag."""
    path.write_text("\n\n".join("\n".join(f"{token}\t{tag}" for token, tag in rows) for rows in sentences) + "\n")
    return str(path)
