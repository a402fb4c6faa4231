// Reading and writing TensorFlow.js models on disk, which @tensorflow/tfjs does not do by itself outside of a browser.
'use strict';

const fs = require('fs');
const path = require('path');

// A load handler for the model.json in a folder.
exports.fromFolder = function(folder) {
  return {
    load: async () => {
      const document = JSON.parse(fs.readFileSync(path.join(folder, 'model.json'), 'utf8'));
      const shards = [];
      const weightSpecs = [];
      for (const group of document.weightsManifest) {
        weightSpecs.push(...group.weights);
        for (const name of group.paths) shards.push(fs.readFileSync(path.join(folder, name)));
      }
      const bytes = Buffer.concat(shards);
      const weightData = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
      return {...document, weightSpecs, weightData};
    },
  };
};

// A save handler that writes model.json and one file of weights to a folder.
exports.toFolder = function(folder) {
  return {
    save: async ({weightSpecs, weightData, ...document}) => {
      fs.mkdirSync(folder, {recursive: true});
      const manifest = [{paths: ['weights.bin'], weights: weightSpecs}];
      fs.writeFileSync(path.join(folder, 'model.json'), JSON.stringify({...document, weightsManifest: manifest}));
      fs.writeFileSync(path.join(folder, 'weights.bin'), Buffer.from(weightData));
      return {modelArtifactsInfo: {dateSaved: new Date(), modelTopologyType: 'JSON'}};
    },
  };
};

// Values of an array of the given shape that look random and are the same everywhere.
exports.values = function(shape, offset = 0) {
  const size = shape.reduce((product, length) => product * length, 1);
  return Array.from({length: size}, (_, i) => ((i + offset) * 7919 % 101) / 101 - 0.5);
};

// The losses of some steps of training on one batch; the first of each where there are several outputs.
exports.train = async function(model, inputs, targets, steps) {
  const losses = [];
  for (let i = 0; i < steps; i++) {
    losses.push([].concat(await model.trainOnBatch(inputs, targets))[0]);
  }
  return losses;
};
