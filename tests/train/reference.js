// Writes reference.json: where TensorFlow.js's optimizers take two variables in 1, 5 and 100 steps.
//
//     npm install @tensorflow/tfjs@4.22.0 && node reference.js > reference.json
//
// The loss is sum(c (a - t)²) + 0.1 sum(b⁴) + sum((b a')²) / 20, with a' the first two numbers of a.

const tf = require('@tensorflow/tfjs');

const CASES = {
  sgd: () => tf.train.sgd(0.02),
  momentum: () => tf.train.momentum(0.01, 0.8),
  nesterov: () => tf.train.momentum(0.01, 0.8, true),
  adagrad: () => tf.train.adagrad(0.1),
  adagrad_accumulator: () => tf.train.adagrad(0.2, 0.5),
  adadelta: () => tf.train.adadelta(0.01),
  adadelta_options: () => tf.train.adadelta(0.05, 0.9, 1e-4),
  adam: () => tf.train.adam(0.01),
  adam_defaults: () => tf.train.adam(),
  adam_options: () => tf.train.adam(0.02, 0.8, 0.95, 1e-3),
  adamax: () => tf.train.adamax(0.01),
  adamax_options: () => tf.train.adamax(0.05, 0.8, 0.9, 1e-3, 0.1),
  rmsprop: () => tf.train.rmsprop(0.005),
  rmsprop_options: () => tf.train.rmsprop(0.005, 0.8, 0.5, 1e-3),
  // An epsilon too small to matter: TensorFlow.js subtracts it here.
  rmsprop_centered: () => tf.train.rmsprop(0.002, 0.9, 0.1, 1e-10, true),
};

async function run(name) {
  const a = tf.variable(tf.tensor1d([3, -1, 2]), true, `${name}/a`);
  const b = tf.variable(tf.tensor2d([[1.5, -0.5], [0.25, 2]]), true, `${name}/b`);
  const c = tf.tensor1d([1, 3, 0.2]);
  const t = tf.tensor1d([0.5, 1.5, -1]);
  const firstTwo = tf.tensor2d([[1, 0, 0], [0, 1, 0]]);
  const loss = () => c.mul(a.sub(t).square()).sum()
      .add(b.square().square().sum().mul(0.1))
      .add(tf.matMul(b, tf.matMul(firstTwo, a.reshape([3, 1]))).square().sum().div(20));
  const optimizer = CASES[name]();
  const result = {config: optimizer.getConfig(), className: optimizer.getClassName(), steps: {}};
  for (let step = 1; step <= 100; step++) {
    optimizer.minimize(loss, false, [a, b]);
    if (step === 1 || step === 5 || step === 100) {
      result.steps[step] = {a: Array.from(a.dataSync()), b: Array.from(b.dataSync())};
    }
  }
  if (result.className !== 'Adamax') {  // whose state TensorFlow.js cannot read out
    result.weights = {};
    for (const {name: slot, tensor} of await optimizer.getWeights()) {
      result.weights[slot] = Array.from(tensor.dataSync());
    }
  }
  return result;
}

(async () => {
  const results = {};
  for (const name of Object.keys(CASES)) {
    results[name] = await run(name);
  }
  console.log(JSON.stringify(results, null, 1));
})();
