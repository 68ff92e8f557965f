import keras
import numpy as np

from pipelines.training.own_inputs import OwnInputs


class Doubled(OwnInputs):
    def own_inputs(self, inputs):
        return 2 * inputs


def test_a_training_step_reads_the_inputs_that_the_model_chooses_and_a_prediction_those_of_the_data():
    x = keras.Input((1,))
    model = Doubled(inputs=x, outputs=keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")(x))
    model.compile(keras.optimizers.SGD(0.5), "mse")
    model.fit(np.ones((1, 1)), np.zeros((1, 1)), verbose=0)
    # prediction w 2x = 2, loss (w 2x)^2, gradient 8 w x^2: w = 1 - 0.5 * 8
    np.testing.assert_allclose(model.predict(np.ones((1, 1)), verbose=0), [[-3]])
