// node predict.js FOLDER: loads the model in the folder, reads {"x": nested array, "train": boolean} from standard input,
// and prints what TensorFlow.js makes of it as JSON: predictions, names, its own topology, losses of two training steps.
'use strict';

const tf = require('@tensorflow/tfjs');
const {fromFolder} = require('./files');

async function main() {
  await tf.setBackend('cpu');
  const model = await tf.loadLayersModel(fromFolder(process.argv[2]));
  const {x, train} = JSON.parse(require('fs').readFileSync(0, 'utf8'));
  const lines = [];
  model.summary(undefined, undefined, line => lines.push(line));
  const result = {
    prediction: model.predict(tf.tensor(x)).arraySync(),
    name: model.name,
    layers: model.layers.map(layer => layer.name),
    weights: model.weights.map(weight => weight.originalName),
    trainable: model.trainableWeights.map(weight => weight.originalName),
    outputShape: model.outputs[0].shape,
    metadata: model.getUserDefinedMetadata() ?? null,
    config: model.toJSON(null, false),
    summary: lines,
  };
  if (train) {
    model.compile({optimizer: tf.train.sgd(0.01), loss: 'meanSquaredError'});
    const y = tf.zerosLike(model.predict(tf.tensor(x)));
    result.losses = [await model.trainOnBatch(tf.tensor(x), y), await model.trainOnBatch(tf.tensor(x), y)];
  }
  process.stdout.write(JSON.stringify(result));
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
