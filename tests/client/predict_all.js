// node predict_all.js FOLDER: for each folder of a model in the folder, loads the model, reads inputs.json (a list of
// {"shape", "values"}), and prints as JSON, by the folder's name, what TensorFlow.js predicts, in the same form, or
// the error that it ends in.
'use strict';

const fs = require('fs');
const path = require('path');
const tf = require('@tensorflow/tfjs');
const {fromFolder} = require('./files');

async function predictions(folder) {
  const model = await tf.loadLayersModel(fromFolder(folder));
  const stored = JSON.parse(fs.readFileSync(path.join(folder, 'inputs.json'), 'utf8'));
  const inputs = stored.map(({shape, values}) => tf.tensor(values, shape));
  const results = [].concat(model.predict(inputs.length === 1 ? inputs[0] : inputs));
  return results.map(result => ({shape: result.shape, values: Array.from(result.dataSync())}));
}

async function main() {
  await tf.setBackend('cpu');
  const found = {};
  for (const name of fs.readdirSync(process.argv[2])) {
    try {
      found[name] = {predictions: await predictions(path.join(process.argv[2], name))};
    } catch (error) {
      found[name] = {error: error.message};
    }
    tf.disposeVariables();
  }
  process.stdout.write(JSON.stringify(found));
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
