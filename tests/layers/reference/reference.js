// Runs the cases of cases/*.json in TensorFlow.js and writes what it gives to expected/*.json.
//
//     npm ci --prefix ../../client
//     NODE_PATH=../../client/node_modules node reference.js [family…]
//
// README.md describes both kinds of file. The numbers that fill inputs and weights are made alike in test_reference.py.

const fs = require('fs');
const path = require('path');
const tf = require('@tensorflow/tfjs');

const LEARNING_RATE = 0.1;
const STEPS = 2;

// Names

const toCamel = (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
const plain = (name) => name.replace(/_/g, '').toLowerCase();

function factory(name) {
  if (tf.layers[toCamel(name)]) return tf.layers[toCamel(name)];
  const found = Object.keys(tf.layers).find((key) => /^[a-z]/.test(key) && plain(key) === plain(name));
  if (!found) throw new Error(`TensorFlow.js has no layer ${name}`);
  return tf.layers[found];
}

// Strings that are names of something else than an option, and stay as they are.
const VERBATIM = new Set(['name', 'class_name']);

function camelArguments(value, key, owner) {
  if (typeof value === 'string') return VERBATIM.has(key) || value === 'gelu_new' ? value : toCamel(value);
  if (Array.isArray(value)) return value.map((item, i) => camelArguments(item, key, `${owner}_${i}`));
  if (value === null || typeof value !== 'object') return value;
  if ('layer' in value && 'args' in value) return makeLayer(value, owner);
  const entries = Object.entries(value).map(([k, v]) => [toCamel(k), camelArguments(v, k, `${owner}_${k}`)]);
  return Object.fromEntries(entries);
}

function makeLayer(spec, name) {
  return factory(spec.layer)({ name, ...camelArguments(spec.args || {}, null, name) });
}

// Numbers

const count = (shape) => shape.reduce((a, b) => a * b, 1);
const fill = (shape, f) => Array.from({ length: count(shape) }, (_, i) => f(i));

function inputTensor(spec, k) {
  const dtype = spec.dtype || 'float32';
  let values = spec.values;
  if (!values && dtype === 'int32') values = fill(spec.shape, (i) => (7 * i + 3 * k) % (spec.below || 5));
  if (!values) values = fill(spec.shape, (i) => Math.sin(1.7 * i + k + (spec.shift || 0)));
  return tf.tensor(values, spec.shape, dtype);
}

function weightTensor(weight, k) {
  const values = fill(weight.shape, (i) => Math.sin(1.3 * i + k) / 2);
  // A variance is not negative.
  return tf.tensor(weight.originalName.endsWith('variance') ? values.map((x) => 1 + x) : values, weight.shape);
}

function coefficients(tensor, k) {
  return tf.tensor(fill(tensor.shape, (i) => Math.cos(0.7 * i + k + 1)), tensor.shape);
}

const mapped = (value, f) => (Array.isArray(value) ? value.map(f) : f(value, 0));
const listed = (value) => (Array.isArray(value) ? value : [value]);

function numbers(tensor) {
  return Array.from(tensor.dataSync(), (x) => (Number.isFinite(x) ? Number(Number(x).toPrecision(8)) : String(x)));
}

function maskTensors(test) {
  if (test.mask === undefined) return undefined;
  const one = (mask) => (mask === null ? null : tf.cast(tf.tensor(mask), 'bool'));
  return test.inputs.length > 1 || test.as_list ? test.mask.map(one) : one(test.mask);
}

function oneOrList(test, items) {
  return items.length === 1 && !test.as_list ? items[0] : items;
}

// Running

function run(test) {
  const layer = makeLayer(test, test.name);
  // Copies, for some layers change the shapes that they are given.
  const symbols = test.inputs.map((spec) =>
    tf.input({ batchShape: [...spec.shape], dtype: spec.dtype || 'float32' }),
  );
  const connected = layer.apply(oneOrList(test, symbols));
  const model = tf.model({ inputs: symbols, outputs: connected });
  const stored = model.toJSON(null, false).config.layers.find((other) => other.name === test.name);

  const starting = layer.weights.map(weightTensor);
  const restart = () => {
    layer.setWeights(starting);
    if (test.args && test.args.stateful) layer.resetStates();
  };
  const call = (inputs) => {
    const options = { training: !!test.training };
    const mask = maskTensors(test);
    if (mask !== undefined) options.mask = mask;
    for (const [name, spec] of Object.entries(test.keywords || {})) {
      options[toCamel(name)] = mapped(spec, (one, i) => inputTensor(one, 20 + i));
    }
    // A layer that is given a mask and says that it supports none may heed it all the same.
    const run = mask === undefined || layer.supportsMasking || options.initialState ? 'apply' : 'call';
    let result;
    for (let i = 0; i < (test.calls || 1); i++) result = layer[run](oneOrList(test, inputs), options);
    return listed(result);
  };
  const loss = (inputs) =>
    tf.addN([
      ...call(inputs).map((y, k) => tf.sum(tf.mul(y, coefficients(y, k)))),
      ...layer.calculateLosses(),
    ]);

  const inputs = test.inputs.map(inputTensor);
  const expected = {};
  restart();
  expected.outputs = call(inputs).map((y) => ({ shape: y.shape, dtype: y.dtype, values: numbers(y) }));
  expected.config = stored.config;
  expected.weights = layer.weights.map((w) => ({
    name: w.originalName.slice(test.name.length + 1),
    shape: w.shape,
    trainable: w.trainable,
  }));
  if (test.mask !== undefined) {
    let mask = null;
    try {
      mask = layer.computeMask(oneOrList(test, inputs), maskTensors(test));
    } catch (error) {
      if (!error.message.includes('does not support masking')) throw error;
    }
    expected.mask = mask == null ? null : mapped(mask, (m) => (m == null ? null : { shape: m.shape, values: numbers(m) }));
  }

  const variables = inputs.map((x) => (x.dtype === 'float32' ? tf.variable(x) : x));
  const wanted = variables.filter((x) => x.dtype === 'float32');
  const trained = layer.trainableWeights.map((w) => w.read());
  try {
    restart();
    const { grads } = tf.variableGrads(() => loss(variables), [...wanted, ...trained]);
    const gradient = (x) => (grads[x.name] ? numbers(grads[x.name]) : null);
    expected.gradients = {
      inputs: variables.map((x) => (x.dtype === 'float32' ? gradient(x) : null)),
      weights: trained.map(gradient),
    };
    if (trained.length) {
      restart();
      const optimizer = tf.train.sgd(LEARNING_RATE);
      for (let i = 0; i < STEPS; i++) optimizer.minimize(() => loss(inputs), false, trained);
      expected.after = layer.weights.map((w) => numbers(w.read()));
    }
  } catch (error) {
    expected.gradients = null;
    expected.gradient_error = error.message.slice(0, 200);
  }
  return expected;
}

function main(families) {
  const folder = path.join(__dirname, 'cases');
  for (const file of fs.readdirSync(folder).sort()) {
    const family = path.basename(file, '.json');
    if (families.length && !families.includes(family)) continue;
    const rows = [];
    for (const test of JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8'))) {
      let expected;
      try {
        expected = run(test);
      } catch (error) {
        expected = { error: error.message.slice(0, 300) };
        console.error(`${family}/${test.name}: ${error.message}`);
      }
      rows.push(`${JSON.stringify(test.name)}: ${JSON.stringify(expected)}`);
    }
    fs.writeFileSync(path.join(__dirname, 'expected', file), `{\n${rows.join(',\n')}\n}\n`);
    console.log(`${family}: ${rows.length} cases`);
  }
}

console.warn = () => {};
main(process.argv.slice(2));
