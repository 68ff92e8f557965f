"""The terms of the glossary: what each means, its equation, the code that computes it, and a command that shows it."""

from typing import NamedTuple


class Term(NamedTuple):
    """An entry of the glossary.

    Attributes:
        meaning: one or two sentences.
        command: after `python main.py`; MODEL stands for an exported model, TEXT for a text.
        code: file.py:function or file.py:Class, or a class of Keras such as keras.layers.LSTM.
        equation: with h' for the state of the step before.
        also: other names.
    """

    meaning: str
    command: str
    code: str = ""
    equation: str = ""
    also: tuple[str, ...] = ()


TERMS = {
    "attention": Term(
        "A weighted mean of values; the weights say how well the key of each value fits a query.",
        "learn attention", "layers/attention.py:Attention", "result = sum of softmax(score(q, k)) v",
        ("soft alignment",),
    ),
    "additive attention": Term(
        "Attention whose score is a small network of query and key.",
        "train nmt --model attention --attention-style bahdanau", "layers/attention.py:BahdanauAttention",
        "score = v . tanh(W q + U k)", ("Bahdanau attention", "concat attention"),
    ),
    "dot-product attention": Term(
        "Attention whose score is the product of query and key, divided by sqrt(d) in Transformers.",
        "learn scaling", "layers/attention.py:LuongAttention", "score = q . k / sqrt(d)", ("Luong attention",),
    ),
    "backpropagation through time": Term(
        "The gradient of a recurrent network, unrolled over its steps: what each step adds is summed.",
        "learn backward", "pipelines/learn/backward.py:backward", "dL/dU = sum over t of a_t h_(t-1)^T", ("BPTT",),
    ),
    "truncated backpropagation": Term(
        "Gradients end after a window of K steps; the state goes on.",
        "train char-lm --window 8", "pipelines/networks/causal.py:causal_network", "", ("TBPTT", "window"),
    ),
    "real-time recurrent learning": Term(
        "The gradient of a recurrent network, computed forwards: derivatives of the state are carried along.",
        "learn backward", "pipelines/learn/backward.py:real_time", "dh/dU = (1 - h^2) (U dh'/dU + h')", ("RTRL",),
    ),
    "vanishing gradient": Term(
        "The gradient of early steps is a product of many factors below 1, so nearly nothing arrives.",
        "inspect gradients --models MODEL", "pipelines/inspect/gradients.py:gradient_norms",
        "dh_t/dh_k = product of diag(1 - h^2) U", ("long-range dependency",),
    ),
    "exploding gradient": Term(
        "The product of the factors grows without bound; one step of training then destroys the weights.",
        "inspect clipping --run RUN", "pipelines/inspect/clipping.py:figures", "", (),
    ),
    "clipping": Term(
        "A gradient that is longer than a norm c is scaled down to it.",
        "train char-lm --clip-norm 1", "", "g min(1, c / |g|)", ("gradient clipping",),
    ),
    "beam search": Term(
        "Decoding that keeps the b likeliest beginnings at each step.",
        "predict nmt TEXT --n-best 3", "pipelines/decoding/beam_search.py:beam_search", "", ("beam",),
    ),
    "greedy decoding": Term(
        "At each step the likeliest token is taken; a beam of one.",
        "predict char-lm TEXT --temperature 0", "pipelines/decoding/sampling.py:sample", "", (),
    ),
    "sampling": Term(
        "Each next token is drawn by its probability.",
        "predict char-lm TEXT --temperature 1 --seed 3", "pipelines/decoding/sampling.py:sample", "", (),
    ),
    "temperature": Term(
        "The logits are divided by it before the softmax: below 1 sharper, above 1 flatter.",
        "predict char-lm TEXT --next 5 --temperature 0.5", "pipelines/decoding/sampling.py:sample",
        "softmax(z / T)", (),
    ),
    "top-k and top-p": Term(
        "Sampling among the k likeliest tokens only, or among the fewest that have the probability p together.",
        "predict char-lm TEXT --next 5 --top-p 0.9", "pipelines/decoding/sampling.py:sample", "",
        ("top-k", "top-p", "nucleus sampling"),
    ),
    "bidirectional network": Term(
        "Two recurrent networks, one of which reads backwards; their states stand side by side.",
        "train tagging --model lstm --no-bidirectional", "keras.layers.Bidirectional",
        "h = [h forward ; h backward]", ("bidirectional RNN", "BiLSTM"),
    ),
    "recurrent network": Term(
        "A network that reads a sequence step by step and carries a state along; each step has the same weights.",
        "learn lesson 1", "keras.layers.SimpleRNN", "h = g(W x + U h' + b)",
        ("RNN", "Elman network", "simple network", "simple RNN"),
    ),
    "hidden state": Term(
        "The numbers that a recurrent network carries from step to step; all that it knows of what it has read.",
        "inspect states TEXT --models MODEL", "layers/recurrent_trace.py:RecurrentTrace", "h = g(W x + U h' + b)",
        ("state",),
    ),
    "Jordan network": Term(
        "A recurrent network that feeds back its output instead of its state.",
        "train char-lm --model jordan", "layers/recurrent.py:JordanCell",
        "h = f(W x + U y' + b)     y = g(V h + c)", (),
    ),
    "LSTM": Term(
        "A recurrent network with a second state, the cell, and three gates: what to keep, to write and to show.",
        "learn lesson 4", "layers/lstm_gru.py:HoistedLSTM", "c = f * c' + i * g     h = o * tanh(c)",
        ("long short-term memory",),
    ),
    "cell state": Term(
        "The second state of an LSTM. It is only multiplied by the forget gate and added to, so it can keep for long.",
        "inspect gates TEXT --models MODEL", "layers/lstm_gru.py:HoistedLSTM", "c = f * c' + i * g", ("memory cell",),
    ),
    "gate": Term(
        "Numbers from 0 to 1, one for each unit, by which something is multiplied: 0 shuts, 1 lets pass.",
        "inspect gates TEXT --models MODEL", "pipelines/inspect/gates.py:figures", "sigmoid(W x + U h' + b)", (),
    ),
    "forget gate": Term(
        "The gate of an LSTM that multiplies the cell's content: 1 keeps, 0 forgets.",
        "learn exercise 4", "layers/lstm_gru.py:HoistedLSTM", "f = sigmoid(W_f x + U_f h' + b_f)", (),
    ),
    "input gate": Term(
        "The gate of an LSTM that multiplies what is written to the cell.",
        "learn exercise 5", "layers/lstm_gru.py:HoistedLSTM", "i = sigmoid(W_i x + U_i h' + b_i)", (),
    ),
    "output gate": Term(
        "The gate of an LSTM that multiplies what the cell shows.",
        "learn exercise 3", "layers/lstm_gru.py:HoistedLSTM", "o = sigmoid(W_o x + U_o h' + b_o)", (),
    ),
    "peephole": Term(
        "A gate of an LSTM that also reads the cell.",
        "train char-lm --model peephole", "layers/recurrent.py:PeepholeLSTMCell",
        "f = sigmoid(W x + U h' + p * c' + b)",
        ("peephole connection",),
    ),
    "GRU": Term(
        "A recurrent network with two gates and no cell: what is not kept is written.",
        "learn lesson 5", "layers/lstm_gru.py:HoistedGRU", "h = z * h' + (1 - z) * g", ("gated recurrent unit",),
    ),
    "update gate": Term(
        "The gate of a GRU that divides the new state between the old one and the candidate. Keras's z keeps.",
        "learn lesson 5", "layers/lstm_gru.py:HoistedGRU", "h = z * h' + (1 - z) * g", (),
    ),
    "reset gate": Term(
        "The gate of a GRU that decides how much of the old state the candidate sees.",
        "learn lesson 5", "layers/lstm_gru.py:HoistedGRU", "g = tanh(W x + r * (U h'))", (),
    ),
    "stacked network": Term(
        "Recurrent layers one above the other: each reads the states of the one below.",
        "train char-lm --num-layers 2", "pipelines/networks/recurrent.py:stacked_recurrent", "", ("deep RNN",),
    ),
    "language model": Term(
        "It gives every token a probability to come next, so every text has a probability.",
        "learn lesson 2", "pipelines/networks/causal.py:causal_network",
        "P(w_1 ... w_n) = product of P(w_t | w_1 ... w_(t-1))", ("autoregressive model", "LM"),
    ),
    "masked language model": Term(
        "A network that learns to fill blanks from the words on both sides.",
        "learn lesson 10", "pipelines/encoder/networks.py:build", "", ("BERT", "masking of tokens"),
    ),
    "n-gram model": Term(
        "A language model that counts which word follows the last n - 1 words.",
        "train char-lm --model ngram", "layers/ngrams.py:NGramLogits",
        "P(w | last n - 1 words) = count / count", ("n-gram",),
    ),
    "perplexity": Term(
        "exp of the mean loss: among how many equally likely tokens a choice would be as hard.",
        "learn exercise 10", "keras.losses.SparseCategoricalCrossentropy", "exp(-mean of log P)", (),
    ),
    "cross-entropy": Term(
        "The loss of a prediction: minus the logarithm of the probability of what came.",
        "learn so-long-and", "keras.losses.SparseCategoricalCrossentropy", "-log P(target)", ("loss", "surprisal"),
    ),
    "softmax": Term(
        "Turns logits into probabilities: exp of each, divided by their sum.",
        "learn so-long-and", "keras.layers.Softmax", "exp(z_i) / sum of exp(z_j)", (),
    ),
    "logits": Term(
        "The numbers before the softmax, one for each class or token.",
        "learn so-long-and", "keras.layers.Dense", "z = V h + b", ("scores",),
    ),
    "embedding": Term(
        "The vector of a token, a row of a matrix that is learned.",
        "inspect embeddings --models MODEL", "keras.layers.Embedding", "e = E[token]", ("word vector",),
    ),
    "contextual vector": Term(
        "The vector of a word in its sentence: the same word has another one in another sentence.",
        "learn lesson 10", "pipelines/encoder/predict.py:compare_words", "", ("contextual embedding",),
    ),
    "weight sharing": Term(
        "The same weights at each step: their number does not depend on the length of the text.",
        "learn exercise 1", "keras.layers.SimpleRNN", "", ("parameter sharing",),
    ),
    "weight tying": Term(
        "The embeddings of the tokens are also the weights of the output.",
        "train char-lm --tokenizer word --tie-weights True", "pipelines/networks/causal.py:causal_network",
        "z = E h", (),
    ),
    "teacher forcing": Term(
        "In training, the network reads the true token before each step, not the one that it would have written.",
        "train char-lm --teacher-forcing 0.5", "pipelines/language_model/free_running.py:FreeRunningModel", "", (),
    ),
    "encoder-decoder": Term(
        "One network reads a sequence, another writes one from what the first has kept.",
        "learn lesson 7", "pipelines/translation/networks.py:encode", "P(y_t | y_1 ... y_(t-1), c)",
        ("sequence to sequence", "seq2seq", "encoder", "decoder"),
    ),
    "context vector": Term(
        "What the decoder knows of the source: the last state, or with attention a mean of the states.",
        "learn lesson 7", "pipelines/translation/networks.py:decode", "c = sum of weight * h", ("bottleneck",),
    ),
    "self-attention": Term(
        "Attention in which queries, keys and values are projections of the words of one sequence.",
        "learn lesson 9", "layers/multi_head_attention.py:CachedMultiHeadAttention", "softmax(Q K^T / sqrt(d)) V", (),
    ),
    "query, key, value": Term(
        "Projections of a vector: what it looks for, what it answers to, what it contributes.",
        "learn attention", "layers/multi_head_attention.py:CachedMultiHeadAttention",
        "q = W_Q x     k = W_K x     v = W_V x", ("query", "key", "value"),
    ),
    "cross-attention": Term(
        "Attention of a decoder to the states of an encoder.",
        "learn lesson 8", "layers/attention_decoder.py:AttentionDecoderCell", "", (),
    ),
    "multi-head attention": Term(
        "Several attentions side by side, each in a part of the vector; their results are joined and projected.",
        "inspect attention TEXT --models MODEL", "layers/multi_head_attention.py:CachedMultiHeadAttention",
        "[head 1 ; ... ; head n] W_O", ("head",),
    ),
    "causal mask": Term(
        "Scores of later words become minus infinity, so that a language model sees only what stands before.",
        "learn lesson 9", "layers/transformer.py:TransformerDecoderBlock", "", ("masking", "mask"),
    ),
    "Transformer": Term(
        "Blocks of self-attention and a feed-forward network, without recurrence.",
        "learn lesson 9", "layers/transformer.py:TransformerDecoderBlock",
        "a = x + attention(norm(x))     y = a + FFN(norm(a))", (),
    ),
    "positional encoding": Term(
        "What tells attention the order of the words: numbers added to the vectors, or a rotation of queries and keys.",
        "learn positions", "layers/positional.py:SinusoidalPositionalEncoding", "PE(p, 2i) = sin(p / 10000^(2i/d))",
        ("position embedding", "rotary positions"),
    ),
    "residual connection": Term(
        "The input of a sublayer is added to its output.",
        "inspect intervene TEXT --models MODEL", "layers/transformer.py:TransformerEncoderBlock", "y = x + f(x)",
        ("skip connection",),
    ),
    "layer normalization": Term(
        "Each vector is shifted to the mean 0 and scaled to the variance 1, then by learned numbers.",
        "train nmt --model transformer --norm post", "keras.layers.LayerNormalization",
        "gamma (x - mean) / sqrt(variance + epsilon) + beta", ("layer norm",),
    ),
    "feed-forward network": Term(
        "Two layers that see each position alone.",
        "inspect size --models MODEL", "keras.layers.Dense", "W2 f(W1 x + b1) + b2", ("FFN",),
    ),
    "sequence labelling": Term(
        "A label for each token, such as a part of speech.",
        "learn lesson 6", "pipelines/tagging/networks.py:build", "", ("tagging", "part-of-speech tagging"),
    ),
    "BIO tags": Term(
        "B- begins a span, I- continues it, O is outside.",
        "learn lesson 6", "pipelines/data/tag_schemes.py:to_iob2", "", ("named entity recognition", "BIO"),
    ),
    "conditional random field": Term(
        "Chooses the likeliest sequence of tags: scores of the tags and of their neighbours are added.",
        "train tagging --model linear", "layers/crf.py:CRF",
        "P(y | x) = exp(score(x, y)) / sum over y' of exp(score(x, y'))", ("CRF",),
    ),
    "pooling": Term(
        "One vector of many states: the last, their mean or their maximum.",
        "train sentiment --model lstm --pooling mean", "layers/pooling.py:MaskedMeanPooling", "", (),
    ),
    "dropout": Term(
        "In training, random numbers of a vector become 0, so that the network does not rely on single ones.",
        "train char-lm --num-layers 2 --dropout 0.3", "keras.layers.Dropout", "", (),
    ),
    "early stopping": Term(
        "Training ends when the validation loss no longer falls; the best epoch is kept.",
        "train char-lm --patience 1", "pipelines/training/fit.py:fit", "", ("patience",),
    ),
    "transfer learning": Term(
        "A network that has learned one task is the start of another, which then needs fewer labels.",
        "learn lesson 10", "pipelines/transfer/networks.py:network", "", ("pretraining", "fine-tuning"),
    ),
    "tokenizer": Term(
        "Divides a text into tokens: characters, words, or parts of words.",
        "train char-lm --tokenizer word", "pipelines/text/tokenizers.py:VocabularyTokenizer", "",
        ("token", "subword", "vocabulary"),
    ),
    "BLEU": Term(
        "How many n-grams of a translation are in the reference, from 0 to 100; shorter translations lose.",
        "evaluate nmt --data FILE", "pipelines/translation/metrics.py:bleu", "", (),
    ),
    "parameters": Term(
        "The numbers that training changes.",
        "learn exercise 6", "pipelines/inspect/size.py:size_rows", "k d (n + d + 1), k = 1, 3, 4", ("weights",),
    ),
}  # fmt: skip
"""Name -> term."""
