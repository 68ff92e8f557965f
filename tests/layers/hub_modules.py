"""Small TF Hub modules in all formats."""

import os

import tensorflow as tf
import tensorflow_text as tf_text

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "dull", "film", "gripping", "story", "the", "was", "not", "##ly"]
SIZE, DEPTH = 8, 3


class Preprocessor(tf.Module):
    """string [batch] -> a dict of the three inputs of BERT, each int32 [batch, length]."""

    def __init__(self, vocabulary, length=12):
        super().__init__()
        self.path = tf.saved_model.Asset(str(vocabulary))
        self.tokenizer = tf_text.BertTokenizer(str(vocabulary), lower_case=True)
        self.length = length
        with open(vocabulary, encoding="utf-8") as file:
            words = file.read().split("\n")
        self.special_ids = [words.index("[CLS]"), words.index("[SEP]")]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def __call__(self, text):
        tokens = self.tokenizer.tokenize(text).merge_dims(1, 2)[:, : self.length - 2]
        cls, sep = (tf.fill([tf.shape(text)[0], 1], tf.constant(i, tokens.dtype)) for i in self.special_ids)
        ids = tf.concat([cls, tokens, sep], 1)  # ragged [batch, at most length]
        mask = tf.ones_like(ids).to_tensor(shape=[None, self.length])
        ids = ids.to_tensor(shape=[None, self.length])
        outputs = {"input_word_ids": ids, "input_mask": mask, "input_type_ids": tf.zeros_like(ids)}
        return {name: tf.cast(value, tf.int32) for name, value in outputs.items()}


class Bert(tf.Module):
    """A module with the names, inputs and outputs of BERT, with dropout and a regularization loss.

    Its blocks are dense layers.
    """

    def __init__(self, words=len(WORDS), dropout=0.5):
        super().__init__()
        generator = tf.random.Generator.from_seed(1)

        def variable(name, *shape):
            return tf.Variable(generator.normal(shape, stddev=0.5), name=name)

        self.word = variable("word_embeddings/embeddings", words, SIZE)
        self.blocks = []
        for i in range(DEPTH):
            kernel = variable(f"transformer/layer_{i}/kernel", SIZE, SIZE)
            self.blocks.append((kernel, variable(f"transformer/layer_{i}/bias", SIZE)))
        self.pooler = variable("pooler_transform/kernel", SIZE, SIZE)
        self.calls = tf.Variable(0, trainable=False, name="calls", dtype=tf.int64)
        self.dropout = dropout
        self.variables_ = [self.word, *(v for block in self.blocks for v in block), self.pooler]

    @tf.function
    def __call__(self, inputs, training=False):
        x = tf.gather(self.word, inputs["input_word_ids"])
        mask = tf.cast(inputs["input_mask"], tf.float32)[..., None]
        outputs = []
        for kernel, bias in self.blocks:
            x = x + tf.tanh(tf.einsum("btc,cd->btd", x, kernel) + bias) * mask
            if training:
                x = tf.nn.dropout(x, self.dropout)
            outputs.append(x)
        pooled = tf.tanh(tf.reduce_mean(x * mask, 1) @ self.pooler)
        return {"pooled_output": pooled, "sequence_output": x, "encoder_outputs": outputs}


def save_bert(folder, **options) -> str:
    module = Bert(**options)
    names = ("input_word_ids", "input_mask", "input_type_ids")
    spec = {name: tf.TensorSpec([None, None], tf.int32, name=name) for name in names}
    for training in (True, False):
        module.__call__.get_concrete_function(spec, training=training)
    root = tf.train.Checkpoint()
    root.module = module
    root.__call__ = module.__call__
    root.variables = [*module.variables_, module.calls]
    root.trainable_variables = module.variables_
    loss = tf.function(lambda: 0.1 * tf.reduce_sum(tf.square(module.pooler)), input_signature=[])
    root.regularization_losses = [loss]
    tf.saved_model.save(root, str(folder))
    return str(folder)


def save_preprocessor(folder, vocabulary=None) -> str:
    os.makedirs(folder, exist_ok=True)
    if vocabulary is None:
        vocabulary = os.path.join(os.path.dirname(folder), "words.txt")
        with open(vocabulary, "w", encoding="utf-8") as file:
            file.write("\n".join(WORDS))
    tf.saved_model.save(Preprocessor(vocabulary), str(folder))
    return str(folder)


class Sentences(tf.Module):
    """A sentence encoder: string [batch] -> float32 [batch, SIZE]. It has no argument `training`."""

    def __init__(self):
        super().__init__()
        self.vectors = tf.Variable(tf.random.Generator.from_seed(2).normal([50, SIZE]), name="embeddings")
        self.variables_ = [self.vectors]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def __call__(self, text):
        words = tf.strings.split(tf.strings.lower(text))
        ids = tf.ragged.map_flat_values(lambda w: tf.strings.to_hash_bucket_fast(w, 50), words)
        vectors = tf.ragged.map_flat_values(lambda i: tf.gather(self.vectors, i), ids)
        return tf.reduce_sum(vectors, 1) / tf.maximum(tf.cast(words.row_lengths(), tf.float32)[:, None], 1.0)


def save_sentences(folder) -> str:
    module = Sentences()
    module.__call__.get_concrete_function()
    tf.saved_model.save(module, str(folder), signatures={"embed": module.__call__.get_concrete_function()})
    return str(folder)


class Images(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 3], tf.float32)])
    def __call__(self, x):
        return tf.reduce_mean(x, [1, 2])


def save_images(folder) -> str:
    tf.saved_model.save(Images(), str(folder))
    return str(folder)


def save_two_signatures(folder) -> str:
    """A module that is not callable and has two signatures."""
    module = tf.Module()
    spec = tf.TensorSpec([None], tf.float32, name="x")
    signatures = {
        "double": tf.function(lambda x: 2 * x, input_signature=[spec]),
        "negative": tf.function(lambda x: -x, input_signature=[spec]),
    }
    tf.saved_model.save(module, str(folder), signatures=signatures)
    return str(folder)
