// node predict_each.js: reads [{folder, inputs: [{shape, dtype, values}], training}] from standard input, loads the
// model in each folder, and prints [{outputs: [{shape, values}]} or {error}] as JSON.

const fs = require('fs');
const path = require('path');
const tf = require('@tensorflow/tfjs');
const { fromFolder } = require(path.join(__dirname, '..', '..', 'client', 'files.js'));

async function predict({ folder, inputs }) {
  const model = await tf.loadLayersModel(fromFolder(folder));
  const tensors = inputs.map(({ shape, dtype, values }) => tf.tensor(values, shape, dtype));
  const result = model.predict(tensors, { batchSize: 1000 });
  return (Array.isArray(result) ? result : [result]).map((y) => ({ shape: y.shape, values: Array.from(y.dataSync()) }));
}

async function main() {
  await tf.setBackend('cpu');
  const results = [];
  for (const model of JSON.parse(fs.readFileSync(0, 'utf8'))) {
    try {
      results.push({ outputs: await predict(model) });
    } catch (error) {
      results.push({ error: String(error.message) });
    }
    tf.disposeVariables();
  }
  process.stdout.write(JSON.stringify(results));
}

console.warn = () => {};
main();
