// node continue_graphs.js FOLDER NAME…: loads the model in each of FOLDER's folders NAME, whose given.json has inputs
// and targets, and prints as JSON, by name, what it predicts, the losses of two more steps of the training that the file
// was in, and what it predicts after them.
'use strict';

const fs = require('fs');
const path = require('path');
const tf = require('@tensorflow/tfjs');
const {fromFolder, train} = require('./files');

async function main(folder, names) {
  await tf.setBackend('cpu');
  const results = {};
  for (const name of names) {
    const model = await tf.loadLayersModel(fromFolder(path.join(folder, name)));
    const given = JSON.parse(fs.readFileSync(path.join(folder, name, 'given.json'), 'utf8'));
    const inputs = given.inputs.map((x, i) => tf.tensor(x, undefined, model.inputs[i].dtype));
    const targets = given.targets.map(y => tf.tensor(y));
    const predict = () => [].concat(model.predict(inputs)).map(y => y.arraySync());
    const prediction = predict();
    const losses = await train(model, inputs, targets, 2);
    results[name] = {prediction, losses, after: predict(), config: model.toJSON(null, false)};
  }
  process.stdout.write(JSON.stringify(results));
}

main(process.argv[2], process.argv.slice(3)).catch(error => {
  console.error(error);
  process.exit(1);
});
