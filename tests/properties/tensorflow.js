// Runs TensorFlow.js's functions: a request a line on standard input, a response a line on standard output.

console.warn = console.log = () => {}; // the output is for responses alone
const tf = require('@tensorflow/tfjs');
const readline = require('node:readline');

const ARRAYS = {float32: Float32Array, int32: Int32Array, bool: Uint8Array, complex64: Float32Array};

// The naming rule: `tf.fooBar` is `vg.foo_bar`.
const WORD_END = /(?<=[a-z])(?=[A-Z])|(?<=[0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z])/g;
const snake = name => name.replace('NaN', 'Nan').replace(WORD_END, '_').toLowerCase();
const camel = name => name.replace(/(?<=[a-zA-Z0-9])_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

const functions = new Map();

function find(path) {
  if (!functions.has(path)) {
    functions.set(path, lookUp(path));
  }
  return functions.get(path);
}

function lookUp(path) {
  let found = tf;
  for (const part of path.split('.')) {
    // Capitals begin the names of classes and kernels.
    const name = Object.keys(found).find(key => /^[a-z]/.test(key) && snake(key) === part);
    if (name === undefined) {
      throw new Error(`there is no ${path}`);
    }
    found = found[name];
  }
  return found;
}

function decode(value) {
  if (Array.isArray(value)) {
    return value.map(item => item === null ? null : decode(item));
  }
  if (value === null || typeof value !== 'object') {
    return value === null ? undefined : value;
  }
  if (value.$ === 'number') {
    return Number(value.name);
  }
  return value.$ === 'tensor' ? decodeTensor(value) : Object.fromEntries(
    Object.entries(value).map(([key, item]) => [camel(key), decode(item)]));
}

function decodeTensor({dtype, shape, data}) {
  if (dtype === 'string') {
    return tf.tensor(data, shape, dtype);
  }
  const bytes = new Uint8Array(Buffer.from(data, 'base64')); // a copy, so that it begins at a multiple of four bytes
  const values = new ARRAYS[dtype](bytes.buffer);
  if (dtype !== 'complex64') {
    return tf.tensor(values, shape, dtype);
  }
  const part = first => tf.tensor(values.filter((_, i) => i % 2 === first), shape);
  return tf.complex(part(0), part(1));
}

function encodeTensor(tensor) {
  const {dtype, shape} = tensor;
  const values = tensor.dataSync();
  if (dtype === 'string') {
    return {dtype, shape, data: Array.from(values)};
  }
  const typed = ARRAYS[dtype].from(values);
  return {dtype, shape, data: Buffer.from(typed.buffer).toString('base64')};
}

// Tensors by the names that the function gives them, or by number; nested lists one after the other.
function outputs(result, name = '0') {
  if (result instanceof tf.Tensor) {
    return [[snake(name), result]];
  }
  return Object.entries(result).flatMap(
    ([key, item]) => Array.isArray(item) ? outputs(item).map(([k, t]) => [`${snake(key)}.${k}`, t]) : outputs(item, key));
}

async function answer({name, args, options, gradients}) {
  const call = find(name);
  const given = decode(args);
  if (name.startsWith('losses.')) {
    given.push(tf.Reduction[given.pop().toUpperCase()]);
  }
  if (Object.keys(options).length) {
    given.push(decode(options));
  }
  if (gradients === undefined) {
    const result = await call(...given);
    return {outputs: outputs(result).map(([key, tensor]) => [key, encodeTensor(tensor)])};
  }
  const f = (...tensors) => {
    const all = [...given];
    gradients.positions.forEach((position, i) => all[position] = tensors[i]);
    return outputs(call(...all))[0][1];
  };
  const at = gradients.positions.map(position => given[position]);
  return {gradients: tf.grads(f)(at, decode(gradients.dy)).map(encodeTensor)};
}

async function main() {
  for await (const line of readline.createInterface({input: process.stdin})) {
    let response;
    tf.engine().startScope();
    try {
      response = await answer(JSON.parse(line));
    } catch (error) {
      response = {error: String(error.message).slice(0, 500)};
    }
    tf.engine().endScope();
    process.stdout.write(JSON.stringify(response) + '\n');
  }
}

main();
