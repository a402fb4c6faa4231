// node make_graphs.js FOLDER: graphs of layers made by TensorFlow.js, trained for two steps and saved with their
// optimizers, each to a folder of its own. Beside model.json is expected.json: inputs and targets, what the saved model
// predicts, and the losses of two more steps and what it predicts after them.
'use strict';

const fs = require('fs');
const path = require('path');
const tf = require('@tensorflow/tfjs');
const {toFolder, train, values} = require('./files');

const GRAPHS = {
  // Two inputs, a shared layer at two depths, two outputs.
  branches: () => {
    const a = tf.input({shape: [4], name: 'a'});
    const b = tf.input({shape: [2, 2], name: 'b'});
    const shared = tf.layers.dense({units: 4, activation: 'tanh', name: 'shared'});
    const x = shared.apply(a);
    const y = shared.apply(tf.layers.reshape({targetShape: [4], name: 'flat'}).apply(b));
    const z = shared.apply(tf.layers.add({name: 'sum'}).apply([x, y]));
    const joined = tf.layers.concatenate({name: 'joined'}).apply([x, z]);
    const outputs = [
      tf.layers.dense({units: 2, name: 'first'}).apply(joined),
      tf.layers.dense({units: 1, activation: 'sigmoid', name: 'second'}).apply(y),
    ];
    return {model: tf.model({inputs: [a, b], outputs, name: 'branches'}), optimizer: tf.train.adam(0.01)};
  },
  recurrent: () => {
    const x = tf.input({shape: [5], dtype: 'int32', name: 'x'});
    let y = tf.layers.embedding({inputDim: 7, outputDim: 4, name: 'embedding'}).apply(x);
    const lstm = tf.layers.lstm({units: 3, returnSequences: true, name: 'lstm'});
    y = tf.layers.bidirectional({layer: lstm, mergeMode: 'concat', name: 'both'}).apply(y);
    y = tf.layers.timeDistributed({layer: tf.layers.dense({units: 3, name: 'inside'}), name: 'each'}).apply(y);
    y = tf.layers.layerNormalization({name: 'normal'}).apply(y);
    y = tf.layers.gru({units: 3, name: 'gru'}).apply(y);
    y = tf.layers.dense({units: 2, activation: 'softmax', name: 'out'}).apply(y);
    return {model: tf.model({inputs: x, outputs: y, name: 'recurrent'}), optimizer: tf.train.rmsprop(0.01)};
  },
  residual: () => {
    const x = tf.input({shape: [8, 8, 2], name: 'x'});
    let y = tf.layers.conv2d({filters: 4, kernelSize: 3, padding: 'same', name: 'stem'}).apply(x);
    let z = tf.layers.batchNormalization({name: 'normal'}).apply(y);
    z = tf.layers.reLU({maxValue: 6, name: 'relu'}).apply(z);
    z = tf.layers.separableConv2d({filters: 4, kernelSize: 3, padding: 'same', name: 'separable'}).apply(z);
    y = tf.layers.add({name: 'skip'}).apply([y, z]);
    y = tf.layers.depthwiseConv2d({kernelSize: 2, strides: 2, name: 'depthwise'}).apply(y);
    y = tf.layers.prelu({sharedAxes: [1, 2], name: 'prelu'}).apply(y);
    y = tf.layers.upSampling2d({size: [2, 2], name: 'up'}).apply(y);
    y = tf.layers.conv2dTranspose({filters: 2, kernelSize: 2, strides: 2, name: 'transposed'}).apply(y);
    y = tf.layers.globalAveragePooling2d({name: 'pool'}).apply(y);
    y = tf.layers.dense({units: 1, kernelRegularizer: tf.regularizers.l2({l2: 0.01}), name: 'out'}).apply(y);
    return {model: tf.model({inputs: x, outputs: y, name: 'residual'}), optimizer: tf.train.momentum(0.01, 0.9)};
  },
  // A model as a layer of another, called twice.
  nested: () => {
    const inside = tf.input({shape: [3], name: 'inside'});
    const hidden = tf.layers.dense({units: 3, activation: 'elu', name: 'hidden'}).apply(inside);
    const block = tf.model({
      inputs: inside, outputs: tf.layers.multiply({name: 'gate'}).apply([inside, hidden]), name: 'block',
    });
    const x = tf.input({shape: [3], name: 'x'});
    const y = tf.layers.average({name: 'mean'}).apply([block.apply(block.apply(x)), x]);
    const out = tf.layers.dense({units: 1, name: 'out'}).apply(y);
    return {model: tf.model({inputs: x, outputs: out, name: 'nest'}), optimizer: tf.train.adagrad(0.05)};
  },
};

async function main(folder) {
  await tf.setBackend('cpu');
  for (const [name, make] of Object.entries(GRAPHS)) {
    const {model, optimizer} = make();
    model.setWeights(model.weights.map((weight, i) => {
      const numbers = values(weight.shape, 10 * i).map(v => weight.name.endsWith('variance') ? v + 1 : v);
      return tf.tensor(numbers, weight.shape);
    }));
    model.compile({optimizer, loss: 'meanSquaredError'});
    const inputs = model.inputs.map((input, i) => {
      const shape = [4, ...input.shape.slice(1)];
      const numbers = values(shape, 3 + i);
      return tf.tensor(input.dtype === 'int32' ? numbers.map(v => Math.floor((v + 0.5) * 7)) : numbers, shape, input.dtype);
    });
    const targets = model.outputs.map((output, i) => {
      const shape = [4, ...output.shape.slice(1)];
      return tf.tensor(values(shape, 50 + i), shape);
    });
    const predict = () => [].concat(model.predict(inputs)).map(y => y.arraySync());
    await train(model, inputs, targets, 2);
    await model.save(toFolder(path.join(folder, name)), {includeOptimizer: true});
    const expected = {
      inputs: inputs.map(x => x.arraySync()), targets: targets.map(y => y.arraySync()), prediction: predict(),
      weights: model.weights.map(weight => weight.originalName),
    };
    expected.losses = await train(model, inputs, targets, 2);
    expected.after = predict();
    fs.writeFileSync(path.join(folder, name, 'expected.json'), JSON.stringify(expected));
  }
}

main(process.argv[2]).catch(error => {
  console.error(error);
  process.exit(1);
});
