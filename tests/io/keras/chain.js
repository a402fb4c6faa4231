// node chain.js FOLDER: for each folder in FOLDER, opens model.json, predicts for inputs.json, and saves the model again
// to the folder tensorflow_js in it, beside predictions.json; what goes wrong is written to error.txt.
'use strict';

const fs = require('fs');
const path = require('path');
const tf = require('@tensorflow/tfjs');
const {fromFolder, toFolder} = require(path.join(process.env.CLIENT, 'files'));

function tensor({shape, dtype, values}) {
  return tf.tensor(values, shape, dtype);
}

function listed(results) {
  return Array.isArray(results) ? results : [results];
}

async function open(folder) {
  const model = await tf.loadLayersModel(fromFolder(folder));
  const inputs = JSON.parse(fs.readFileSync(path.join(folder, 'inputs.json'), 'utf8')).map(tensor);
  const results = listed(model.predict(inputs.length > 1 ? inputs : inputs[0]));
  const predictions = results.map(result => ({shape: result.shape, values: Array.from(result.dataSync())}));
  await model.save(toFolder(path.join(folder, 'tensorflow_js')));
  fs.writeFileSync(path.join(folder, 'predictions.json'), JSON.stringify(predictions));
}

async function main(folders) {
  for (const name of fs.readdirSync(folders)) {
    tf.engine().startScope();
    try {
      await open(path.join(folders, name));
    } catch (error) {
      fs.writeFileSync(path.join(folders, name, 'error.txt'), String(error.message));
    }
    tf.engine().endScope();
    tf.disposeVariables();
  }
}

main(process.argv[2]);
