// Writes reference.json: losses, metrics, and what TensorFlow.js's fit makes of small models.
//
//     npm install @tensorflow/tfjs@4.22.0 && node reference.js > reference.json
//
// Every random number here is a sine, and nothing is shuffled.

const tf = require('@tensorflow/tfjs');

const wave = (shape, step, low = -1, high = 1) => tf.tensor(
    Array.from({length: tf.util.sizeFromShape(shape)}, (_, i) => low + (high - low) * (0.5 + 0.5 * Math.sin(1 + step * i))),
    shape);
const classes = (count, of) => Array.from({length: count}, (_, i) => (i * i + Math.floor(i / 3)) % of);
const oneHot = (count, of) => tf.oneHot(tf.tensor1d(classes(count, of), 'int32'), of).toFloat();
const numbers = (count, of) => tf.tensor2d(classes(count, of), [count, 1]);
const distribution = shape => wave(shape, 1.3, -1, 1).softmax();

const store = tensor => ({shape: tensor.shape, dtype: tensor.dtype, values: Array.from(tensor.dataSync())});
const list = value => Array.isArray(value) ? value : [value];
const snakeCase = name => name.replace(/([a-z])([A-Z0-9])/g, '$1_$2').toLowerCase();

// Losses and metrics

const ELEMENTS = [wave([6, 3], 0.9), wave([6, 3], 1.7)];
const SIGNS = [wave([6, 3], 0.9).sign(), wave([6, 3], 1.7, -2, 2)];
const BITS = [wave([6, 3], 0.9).step(0), wave([6, 3], 1.7, 0, 1)];
const ROWS = [oneHot(6, 3), distribution([6, 3])];
const NUMBERS = [numbers(6, 3), distribution([6, 3])];
const POSITIVE = [wave([6, 3], 0.9, 0, 3), wave([6, 3], 1.7, 0, 2)];

const LOSSES = {
  meanSquaredError: ELEMENTS,
  meanAbsoluteError: ELEMENTS,
  meanAbsolutePercentageError: ELEMENTS,
  meanSquaredLogarithmicError: POSITIVE,
  squaredHinge: SIGNS,
  hinge: SIGNS,
  categoricalHinge: ROWS,
  logcosh: ELEMENTS,
  categoricalCrossentropy: ROWS,
  sparseCategoricalCrossentropy: NUMBERS,
  binaryCrossentropy: BITS,
  kullbackLeiblerDivergence: [distribution([6, 3]), wave([6, 3], 0.4).softmax()],
  poisson: POSITIVE,
  cosineProximity: ELEMENTS,
};

const METRICS = {
  binaryAccuracy: BITS,
  binaryCrossentropy: BITS,
  categoricalAccuracy: ROWS,
  categoricalCrossentropy: ROWS,
  cosineProximity: ELEMENTS,
  meanAbsoluteError: ELEMENTS,
  meanAbsolutePercentageError: ELEMENTS,
  meanSquaredError: ELEMENTS,
  precision: [BITS[0], BITS[1].greater(0.4).toFloat()],
  r2Score: ELEMENTS,
  recall: [BITS[0], BITS[1].greater(0.4).toFloat()],
  sparseCategoricalAccuracy: NUMBERS,
};

// The loss of a batch of one is that of the sample.
function lossOfEach(name, [yTrue, yPred]) {
  const model = tf.sequential({layers: [tf.layers.activation({activation: 'linear', inputShape: [3]})]});
  model.compile({loss: name, optimizer: 'sgd'});
  const rows = tf.unstack(yPred).map((_, i) => [yPred.slice([i], [1]), yTrue.slice([i], [1])]);
  return rows.map(([x, y]) => model.evaluate(x, y).dataSync()[0]);
}

// Fits

const dense = (units, activation, options = {}) => tf.layers.dense({units, activation, ...options});

function perceptron(units, activation, options = {}) {
  return tf.sequential({layers: [dense(4, 'tanh', {inputShape: [3], ...options}), dense(units, activation)]});
}

function forked() {
  const input = tf.input({shape: [3], name: 'features'});
  const hidden = dense(4, 'tanh').apply(input);
  const amount = dense(1, 'linear', {name: 'amount'}).apply(hidden);
  const kind = dense(3, 'softmax', {name: 'kind'}).apply(hidden);
  return tf.model({inputs: input, outputs: [amount, kind]});
}

function joined() {
  const left = tf.input({shape: [3], name: 'left'});
  const right = tf.input({shape: [2], name: 'right'});
  const both = tf.layers.concatenate().apply([dense(2, 'tanh').apply(left), right]);
  return tf.model({inputs: [left, right], outputs: dense(1, 'linear').apply(both)});
}

function convolutional() {
  return tf.sequential({layers: [
    tf.layers.conv2d({filters: 2, kernelSize: 3, activation: 'relu', inputShape: [6, 6, 1]}),
    tf.layers.maxPooling2d({poolSize: 2}),
    tf.layers.flatten(),
    dense(3, 'softmax'),
  ]});
}

function reader() {
  return tf.sequential({layers: [
    tf.layers.embedding({inputDim: 6, outputDim: 3, inputLength: 5}), tf.layers.lstm({units: 4}), dense(3, 'softmax'),
  ]});
}

function tagger() {
  return tf.sequential({layers: [
    tf.layers.bidirectional({layer: tf.layers.gru({units: 2, returnSequences: true}), inputShape: [4, 2], mergeMode: 'concat'}),
    tf.layers.timeDistributed({layer: dense(3, 'softmax')}),
  ]});
}

function normalized() {
  return tf.sequential({layers: [
    dense(4, 'linear', {inputShape: [3]}), tf.layers.batchNormalization(), tf.layers.activation({activation: 'relu'}),
    dense(1),
  ]});
}

const X = wave([10, 3], 0.7);
const VALUES = wave([10, 2], 1.1);
const ONE = wave([10, 1], 1.1);
const OUTPUTS = {
  meanSquaredLogarithmicError: [2, 'softplus', wave([10, 2], 1.1, 0, 2)],
  squaredHinge: [2, 'linear', VALUES.sign()],
  hinge: [2, 'linear', VALUES.sign()],
  categoricalHinge: [3, 'linear', oneHot(10, 3)],
  categoricalCrossentropy: [3, 'softmax', oneHot(10, 3)],
  sparseCategoricalCrossentropy: [3, 'softmax', numbers(10, 3)],
  binaryCrossentropy: [2, 'sigmoid', VALUES.step(0)],
  kullbackLeiblerDivergence: [3, 'softmax', distribution([10, 3])],
  poisson: [2, 'softplus', wave([10, 2], 1.1, 0, 2)],
};
const ACCURACY = ['categoricalCrossentropy', 'sparseCategoricalCrossentropy', 'binaryCrossentropy'];

const CASES = {};

for (const loss of Object.keys(LOSSES)) {
  const [units, activation, y] = OUTPUTS[loss] || [2, 'linear', VALUES];
  const metrics = ACCURACY.includes(loss) ? ['accuracy', 'crossentropy'] : ['mse', 'mae'];
  CASES[`loss ${loss}`] = {model: () => perceptron(units, activation), y, compile: {loss, optimizer: 'sgd', metrics}};
}
for (const optimizer of ['sgd', 'adam', 'adamax', 'rmsprop', 'adagrad', 'adadelta']) {
  CASES[`optimizer ${optimizer}`] = {model: () => perceptron(2, 'linear'), y: VALUES, compile: {loss: 'meanSquaredError', optimizer}};
}
for (const [name, args] of Object.entries({momentum: [0.1, 0.9, true], adam: [0.05, 0.8, 0.9, 1e-3], rmsprop: [0.01, 0.8, 0.5, 1e-3]})) {
  CASES[`optimizer object ${name}`] = {
    model: () => perceptron(2, 'linear'), y: VALUES, compile: {loss: 'meanAbsoluteError', optimizer: {name, args}}};
}
Object.assign(CASES, {
  'one output, binary accuracy': {
    model: () => perceptron(1, 'sigmoid'), y: ONE.step(0),
    compile: {loss: 'meanSquaredError', optimizer: 'sgd', metrics: ['acc', 'ce', 'binaryAccuracy']}},
  'a metric twice': {model: () => perceptron(2, 'linear'), y: VALUES, compile: {loss: 'meanSquaredError', optimizer: 'sgd', metrics: ['mse', 'mse']}},
  'class weights of numbers': {
    model: () => perceptron(3, 'softmax'), y: numbers(10, 3),
    compile: {loss: 'sparseCategoricalCrossentropy', optimizer: 'sgd', metrics: ['acc']},
    fit: {classWeight: {0: 3, 1: 0.5, 2: 1}}},
  'class weights of rows': {
    model: () => perceptron(3, 'softmax'), y: oneHot(10, 3), compile: {loss: 'categoricalCrossentropy', optimizer: 'adam'},
    fit: {classWeight: {0: 3, 1: 0.5, 2: 1}}},
  'class weights of bits': {
    model: () => perceptron(1, 'sigmoid'), y: ONE.step(0), compile: {loss: 'binaryCrossentropy', optimizer: 'sgd'},
    fit: {classWeight: {0: 10, 1: 1}}},
  'regularizers': {
    model: () => perceptron(2, 'linear', {kernelRegularizer: tf.regularizers.l1l2({l1: 0.01, l2: 0.1}), biasRegularizer: tf.regularizers.l2()}),
    y: VALUES, compile: {loss: 'meanSquaredError', optimizer: 'sgd'}, evaluatesPenalties: false},
  'validation data': {
    model: () => perceptron(2, 'linear'), y: VALUES, compile: {loss: 'meanSquaredError', optimizer: 'sgd', metrics: ['mae']},
    fit: {validationData: [wave([7, 3], 0.31), wave([7, 2], 0.53)]}},
  'validation split': {
    model: () => perceptron(2, 'linear'), y: VALUES, compile: {loss: 'meanSquaredError', optimizer: 'sgd', metrics: ['mae']},
    fit: {validationSplit: 0.25}},
  'initial epoch': {
    model: () => perceptron(2, 'linear'), y: VALUES, compile: {loss: 'meanSquaredError', optimizer: 'sgd'}, fit: {initialEpoch: 1}},
  'batch larger than the data': {
    model: () => perceptron(2, 'linear'), y: VALUES, compile: {loss: 'meanSquaredError', optimizer: 'sgd'}, fit: {batchSize: 64}},
  'targets of rank 1': {
    model: () => perceptron(1, 'linear'), y: ONE.flatten(), compile: {loss: 'meanSquaredError', optimizer: 'sgd'}},
  'batch normalization': {model: normalized, y: ONE, compile: {loss: 'meanSquaredError', optimizer: 'sgd'}},
  'convolution': {
    model: convolutional, x: wave([10, 6, 6, 1], 0.37), y: oneHot(10, 3),
    compile: {loss: 'categoricalCrossentropy', optimizer: 'adam', metrics: ['accuracy']}},
  'recurrent, words': {
    model: reader, x: tf.tensor2d(classes(50, 6), [10, 5]), y: numbers(10, 3),
    compile: {loss: 'sparseCategoricalCrossentropy', optimizer: 'adam', metrics: ['accuracy']}},
  'recurrent, a class for each step': {
    model: tagger, x: wave([10, 4, 2], 0.37), y: oneHot(40, 3).reshape([10, 4, 3]),
    compile: {loss: 'categoricalCrossentropy', optimizer: 'adam', metrics: ['accuracy']}},
  'two inputs': {
    model: joined, x: [X, wave([10, 2], 0.23)], y: ONE, compile: {loss: 'meanSquaredError', optimizer: 'adam', metrics: ['mae']}},
  'two outputs, one loss': {
    model: forked, y: [ONE, distribution([10, 3])],
    compile: {loss: 'meanSquaredError', optimizer: 'sgd', metrics: ['mae']}, evaluatesOutputs: false},
  'two outputs, losses in a list': {
    model: forked, y: [ONE, oneHot(10, 3)],
    compile: {loss: ['meanSquaredError', 'categoricalCrossentropy'], optimizer: 'adam', metrics: ['accuracy']}, evaluatesOutputs: false},
  'two outputs, losses by name': {
    model: forked, y: [ONE, numbers(10, 3)],
    compile: {
      loss: {amount: 'meanAbsoluteError', kind: 'sparseCategoricalCrossentropy'}, optimizer: 'rmsprop',
      metrics: {amount: 'mse', kind: ['accuracy', 'crossentropy']}},
    evaluatesOutputs: false},
  'two outputs, class weights': {
    model: forked, y: [ONE, oneHot(10, 3)],
    compile: {loss: ['meanSquaredError', 'categoricalCrossentropy'], optimizer: 'sgd'},
    fit: {classWeight: {kind: {0: 3, 1: 0.5, 2: 1}}}, evaluatesOutputs: false},
});

const optimizerOf = given => typeof given === 'string' ? given : tf.train[given.name](...given.args);

function compiled(make, options) {
  const model = make();
  model.setWeights(model.weights.map(({shape, originalName}, i) => {
    const variance = originalName.endsWith('variance');
    return wave(shape, 0.61 + 0.1 * i, variance ? 0.5 : -0.5, variance ? 2 : 0.5);
  }));
  const before = model.getWeights().map(store);
  model.compile({...options, optimizer: optimizerOf(options.optimizer)});
  return [model, before];
}

async function run(testCase) {
  const {model: make, x = X, y, compile, fit = {}} = testCase;
  const [model, before] = compiled(make, compile);
  const options = {batchSize: 4, epochs: 3, ...fit};
  const {history, epoch} = await model.fit(x, y, {...options, shuffle: false});
  const result = {
    topology: model.toJSON(null, false), before, x: list(x).map(store), y: list(y).map(store), compile,
    fit: Object.fromEntries(Object.entries(options).map(([name, value]) => [snakeCase(name), value])),
    history, epoch, after: model.getWeights().map(store),
    predicted: list(model.predict(x)).map(store),
  };
  if (options.validationData) {
    result.fit.validation_data = options.validationData.map(store);
  }
  if (testCase.evaluatesPenalties !== false && testCase.evaluatesOutputs !== false) {
    result.evaluated = list(model.evaluate(x, y, {batchSize: 4})).map(value => value.dataSync()[0]);
  }
  return result;
}

async function runDataset() {
  const make = () => perceptron(3, 'softmax');
  const compile = {loss: 'categoricalCrossentropy', optimizer: 'adam', metrics: ['accuracy']};
  const [model, before] = compiled(make, compile);
  const sizes = [4, 1, 3, 2];
  const batches = sizes.map((size, i) => ({xs: wave([size, 3], 0.7 + i), ys: oneHot(size, 3)}));
  const data = () => tf.data.generator(function* () {
    for (const {xs, ys} of batches) yield {xs: xs.clone(), ys: ys.clone()};
  });
  const result = {topology: model.toJSON(null, false), before, compile, batches: batches.map(({xs, ys}) => ({xs: store(xs), ys: store(ys)}))};
  const first = await model.fitDataset(data(), {
    epochs: 2, classWeight: {0: 2, 1: 1, 2: 0.5}, validationData: data(), validationBatches: 2});
  result.first = first.history;
  const second = await model.fitDataset(data(), {epochs: 2, batchesPerEpoch: 2, validationData: [X, oneHot(10, 3)], validationBatchSize: 4});
  result.second = second.history;
  result.after = model.getWeights().map(store);
  result.evaluated = (await model.evaluateDataset(data(), {batches: 3})).map(value => value.dataSync()[0]);
  result.onBatch = [];
  for (const {xs, ys} of batches) {
    result.onBatch.push(await model.trainOnBatch(xs, ys));
  }
  result.x = store(X);
  result.y = store(oneHot(10, 3));
  return result;
}

(async () => {
  const result = {losses: {}, metrics: {}, fits: {}};
  for (const [name, pair] of Object.entries(LOSSES)) {
    result.losses[name] = {y_true: store(pair[0]), y_pred: store(pair[1]), values: lossOfEach(name, pair)};
  }
  for (const [name, pair] of Object.entries(METRICS)) {
    result.metrics[name] = {y_true: store(pair[0]), y_pred: store(pair[1]), values: store(tf.metrics[name](...pair))};
  }
  for (const name of Object.keys(CASES)) {
    result.fits[name] = await run(CASES[name]);
  }
  result.dataset = await runDataset();
  console.log(JSON.stringify(result));
})();
