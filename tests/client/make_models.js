// node make_models.js FOLDER: saves models made by TensorFlow.js, each to a folder of its own, with expected.json beside
// model.json: an input and what TensorFlow.js predicts for it. The stored reference in tests/io/reference is its output.
'use strict';

const fs = require('fs');
const path = require('path');
const tf = require('@tensorflow/tfjs');
const {toFolder, values} = require('./files');

const MODELS = {
  dense: () => [
    tf.layers.dense({units: 10, activation: 'relu', inputShape: [5]}),
    tf.layers.dense({units: 1}),
  ],
  convolutional: () => [
    tf.layers.conv2d({filters: 4, kernelSize: 3, padding: 'same', activation: 'relu', inputShape: [8, 8, 1]}),
    tf.layers.maxPooling2d({poolSize: 2}),
    tf.layers.conv2d({filters: 3, kernelSize: [2, 3], strides: 2, activation: 'tanh', useBias: false}),
    tf.layers.flatten(),
    tf.layers.dropout({rate: 0.25}),
    tf.layers.dense({units: 3, activation: 'softmax'}),
  ],
  options: () => [
    tf.layers.inputLayer({inputShape: [6, 6, 2], name: 'image'}),
    tf.layers.conv2d({
      filters: 2,
      kernelSize: 2,
      dilationRate: 2,
      kernelInitializer: tf.initializers.varianceScaling({scale: 2, mode: 'fanOut', distribution: 'uniform'}),
      kernelRegularizer: tf.regularizers.l2({l2: 0.01}),
      kernelConstraint: 'maxNorm',
      biasInitializer: tf.initializers.constant({value: 0.5}),
      activation: 'hardSigmoid',
    }),
    tf.layers.averagePooling2d({poolSize: [2, 2], strides: 1, padding: 'same'}),
    tf.layers.batchNormalization({momentum: 0.9}),
    tf.layers.flatten({dataFormat: 'channelsFirst'}),
    tf.layers.reshape({targetShape: [4, 8]}),
    tf.layers.dense({units: 2, trainable: false, kernelInitializer: 'orthogonal'}),
    tf.layers.activation({activation: 'logSoftmax'}),
  ],
  nested: () => [
    tf.sequential({
      name: 'inner',
      layers: [tf.layers.dense({units: 4, activation: 'elu', inputShape: [3]}), tf.layers.batchNormalization()],
    }),
    tf.layers.dense({units: 2, activation: 'swish'}),
  ],
};

async function main(folder) {
  await tf.setBackend('cpu');
  for (const [name, layers] of Object.entries(MODELS)) {
    const model = tf.sequential({name, layers: layers()});
    // Variances must be positive.
    const weights = model.weights.map((weight, i) => values(weight.shape, 10 * i).map(
        v => weight.name.endsWith('variance') ? v + 1 : v));
    model.setWeights(model.weights.map((weight, i) => tf.tensor(weights[i], weight.shape)));
    if (name === 'dense') model.setUserDefinedMetadata({made: {for: 'tests', of: [1, 2.5, null]}});
    await model.save(toFolder(path.join(folder, name)));
    const shape = [3, ...model.inputs[0].shape.slice(1)];
    const x = tf.tensor(values(shape, 3), shape);
    fs.writeFileSync(path.join(folder, name, 'expected.json'), JSON.stringify({
      x: x.arraySync(),
      prediction: model.predict(x).arraySync(),
      weights: model.weights.map(weight => weight.originalName),
      trainable: model.trainableWeights.map(weight => weight.originalName),
      outputShape: model.outputs[0].shape,
    }));
  }
}

main(process.argv[2]).catch(error => {
  console.error(error);
  process.exit(1);
});
