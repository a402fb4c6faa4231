// TensorFlow.js on its WebAssembly backend, in Node; answers as worker.py does.
//
//   node tensorflowjs_wasm.cjs FOLDER
//
// The folder holds task.json, and in numbers.bin all weights and data.

"use strict";

const fs = require("fs");
const path = require("path");
const readline = require("readline");
const tf = require("@tensorflow/tfjs");
const wasm = require("@tensorflow/tfjs-backend-wasm");

const BETA1 = 0.9, BETA2 = 0.999, EPSILON = 1e-7, MOMENTUM = 0.9, NORM_EPSILON = 1e-3, AVERAGING = 0.99, HEADS = 4;

const ACTIVATIONS = { relu: tf.relu, tanh: tf.tanh };
const OPTIMIZERS = {
  sgd: (rate) => tf.train.sgd(rate),
  momentum: (rate) => tf.train.momentum(rate, MOMENTUM),
  adam: (rate) => tf.train.adam(rate, BETA1, BETA2, EPSILON),
};

const dense = (x, kernel, bias) => tf.add(tf.matMul(x, kernel), bias);

function mlpOutput(task, weights, x) {
  const last = weights.length - 2;
  for (let i = 0; i < last; i += 2) {
    x = ACTIVATIONS[task.activation](dense(x, weights[i], weights[i + 1]));
  }
  return dense(x, weights[last], weights[last + 1]);
}

function mlp(task, w, [x, y]) {
  const output = mlpOutput(task, w, x);
  return task.loss === "mean_squared_error"
    ? tf.losses.meanSquaredError(y, output)
    : tf.losses.softmaxCrossEntropy(y, output);
}

function cnn(task, w, [x, y]) {
  for (const i of [0, 2]) {
    x = tf.maxPool(tf.relu(tf.add(tf.conv2d(x, w[i], 1, "valid"), w[i + 1])), 2, 2, "valid");
  }
  return tf.losses.softmaxCrossEntropy(y, dense(x.reshape([x.shape[0], -1]), w[4], w[5]));
}

let averages = null;

function cnn32(task, w, [x, y]) {
  averages = averages || [32, 64, 64].map((n) => [tf.keep(tf.zeros([n])), tf.keep(tf.ones([n]))]);
  averages.forEach((moving, at) => {
    const [kernel, bias, gamma, beta] = w.slice(4 * at, 4 * at + 4);
    x = tf.relu(tf.add(tf.conv2d(x, kernel, 1, "same"), bias));
    const { mean, variance } = tf.moments(x, [0, 1, 2]);
    [mean, variance].forEach((value, i) => {
      const moved = tf.keep(tf.add(tf.mul(moving[i], AVERAGING), tf.mul(value, 1 - AVERAGING)));
      moving[i].dispose();
      moving[i] = moved;
    });
    x = tf.maxPool(tf.batchNorm(x, mean, variance, beta, gamma, NORM_EPSILON), 2, 2, "valid");
  });
  return tf.losses.softmaxCrossEntropy(y, dense(x.reshape([x.shape[0], -1]), w[12], w[13]));
}

function lstm(task, w, [x, y]) {
  const batch = x.shape[0];
  const units = w[1].shape[0];
  const inputs = tf.unstack(dense(x.reshape([-1, x.shape[2]]), w[0], w[2]).reshape([batch, -1, 4 * units]), 1);
  let h = tf.zeros([batch, units]);
  let c = h;
  for (const input of inputs) {
    const [i, f, g, o] = tf.split(tf.add(input, tf.matMul(h, w[1])), 4, 1);
    c = tf.add(tf.mul(tf.sigmoid(f), c), tf.mul(tf.sigmoid(i), tf.tanh(g)));
    h = tf.mul(tf.sigmoid(o), tf.tanh(c));
  }
  return tf.losses.softmaxCrossEntropy(y, dense(h, w[3], w[4]));
}

function vae(task, w, [x, noise]) {
  const encoded = tf.relu(dense(x, w[0], w[1]));
  const mean = dense(encoded, w[2], w[3]);
  const logVariance = dense(encoded, w[4], w[5]);
  const code = tf.add(mean, tf.mul(tf.exp(tf.mul(logVariance, 0.5)), noise));
  const logits = dense(tf.relu(dense(code, w[6], w[7])), w[8], w[9]);
  const reconstruction = tf.mul(tf.losses.sigmoidCrossEntropy(x, logits), x.size);
  const terms = tf.sub(tf.sub(tf.add(logVariance, 1), tf.square(mean)), tf.exp(logVariance));
  return tf.div(tf.add(reconstruction, tf.mul(tf.sum(terms), -0.5)), x.shape[0]);
}

function layerNorm(x, gamma, beta) {
  const { mean, variance } = tf.moments(x, -1, true);
  return tf.add(tf.mul(tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, NORM_EPSILON))), gamma), beta);
}

function transformer(task, w, [x, y]) {
  const [batch, tokens, size] = x.shape;
  x = x.reshape([-1, size]);
  const project = dense(layerNorm(x, w[0], w[1]), w[2], w[3]).reshape([batch, tokens, 3, HEADS, size / HEADS]);
  const [query, key, value] = tf.unstack(project.transpose([2, 0, 3, 1, 4]), 0);
  const scores = tf.mul(tf.matMul(query, key, false, true), (size / HEADS) ** -0.5);
  const hidden = tf.mul(tf.sub(1, tf.linalg.bandPart(tf.ones([tokens, tokens]), -1, 0)), -1e9);
  const heads = tf.matMul(tf.softmax(tf.add(scores, hidden)), value);
  x = tf.add(x, dense(heads.transpose([0, 2, 1, 3]).reshape([-1, size]), w[4], w[5]));
  const wide = dense(layerNorm(x, w[6], w[7]), w[8], w[9]);
  const gelu = tf.mul(tf.mul(wide, 0.5), tf.add(tf.erf(tf.mul(wide, Math.SQRT1_2)), 1));
  x = tf.add(x, dense(gelu, w[10], w[11]));
  return tf.mean(tf.squaredDifference(x, y.reshape([-1, size])));
}

const manyVars = (task, w) => tf.addN(w.map((v) => tf.square(tf.sum(v))));

function hvp(task, w, [x, ...rest]) {
  const y = rest.pop();
  const gradients = tf.grads((...weights) => tf.losses.meanSquaredError(y, mlpOutput(task, weights, x)))(w);
  return tf.addN(gradients.map((g, i) => tf.sum(tf.mul(g, rest[i]))));
}

const MODELS = { mlp, cnn, cnn32, lstm, vae, transformer, many_vars: manyVars, hvp };

function makeStep(folder) {
  const task = JSON.parse(fs.readFileSync(path.join(folder, "task.json"), "utf8"));
  const bytes = fs.readFileSync(path.join(folder, "numbers.bin"));
  const numbers = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  let start = 0;
  const [weights, data] = [task.weights, task.data].map((list) =>
    list.map(({ shape }) => {
      const size = shape.reduce((a, b) => a * b, 1);
      start += size;
      return tf.tensor(numbers.slice(start - size, start), shape, "float32");
    }),
  );
  const variables = weights.map((w) => tf.variable(w));
  const optimizer = OPTIMIZERS[task.optimizer](task.rate);
  return () => {
    const loss = optimizer.minimize(() => MODELS[task.model](task, variables, data), true, variables);
    const value = loss.dataSync()[0];
    loss.dispose();
    return value;
  };
}

function answer(step, count) {
  const cpu = process.cpuUsage();
  const started = process.hrtime.bigint();
  const losses = Array.from({ length: count }, step);
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  const { user, system } = process.cpuUsage(cpu);
  return { seconds: seconds / count, cpu: (user + system) / 1e6 / count, losses };
}

async function main() {
  const folder = path.dirname(require.resolve("@tensorflow/tfjs-backend-wasm/package.json"));
  wasm.setWasmPaths(path.join(folder, "dist", path.sep));
  if (!(await tf.setBackend("wasm"))) {
    throw new Error("the WebAssembly backend does not start");
  }
  console.log(JSON.stringify({ imported: "tensorflowjs_wasm", version: tf.version.tfjs }));
  let step = null;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    step = step || makeStep(process.argv[2]);
    console.log(JSON.stringify(answer(step, Number(line))));
  }
}

main().catch((error) => {
  console.error(String(error).startsWith("Error") ? String(error) : `Error: ${error}`);
  process.exit(1);
});
