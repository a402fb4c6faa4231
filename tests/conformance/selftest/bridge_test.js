// What the harness itself must do. Each name begins with what must come of the spec.

import * as tf from './index';
import {ALL_ENVS, describeWithFlags} from './jasmine_util';
import {expectArraysClose, expectArraysEqual} from './test_util';

describeWithFlags('[passed]', ALL_ENVS, () => {
  it('a right value', async () => {
    expectArraysClose(await tf.tensor1d([1, 2]).square().data(), [1, 4]);
  });

  it('values that JSON has no word for', async () => {
    const values = new Float32Array(await tf.tensor1d([NaN, Infinity, -Infinity, -0]).data());
    expect(values[0]).toBeNaN();
    expect(values[1]).toBe(Infinity);
    expect(values[2]).toBe(-Infinity);
    expect(Object.is(values[3], -0)).toBe(true);
  });

  it('typed arrays keep their type both ways', async () => {
    const x = tf.tensor1d(new Int32Array([1, 2]));
    expect(x.dtype).toBe('int32');
    expect(await x.data()).toEqual(new Int32Array([1, 2]));
    expect(await tf.tensor1d([true, false]).data()).toEqual(new Uint8Array([1, 0]));
    expectArraysEqual(await tf.tensor1d(['a', 'ж']).data(), ['a', 'ж']);
  });

  it('arguments left out, and options', () => {
    expect(tf.sum([[1, 2], [3, 4]], undefined, true).shape).toEqual([1, 1]);
    expect(tf.fused.matMul({a: [[1, 2]], b: [[1, 2]], transposeB: true}).shape).toEqual([1, 1]);
  });

  it('an error of VariGrad satisfies any message', () => {
    expect(() => tf.tensor1d([1, 2]).add(tf.tensor1d([1, 2, 3]))).toThrowError(/no such text/);
  });

  it('functions are called in the middle of a call, to any depth', async () => {
    const second = tf.grad(tf.grad(x => tf.tidy(() => x.mul(x).mul(x))));
    expectArraysClose(await second(tf.scalar(2)).data(), [12]);
  });

  it('an error thrown by a function comes back as itself', () => {
    const error = new Error('mine');
    let caught;
    try {
      tf.tidy(() => {
        throw error;
      });
    } catch (e) {
      caught = e;
    }
    expect(caught).toBe(error);
  });

  it('an object that went through Python is the same object', () => {
    const x = tf.scalar(1);
    expect(tf.tidy(() => x)).toBe(x);
    expect(tf.tidy(() => ({a: [x]})).a[0]).toBe(x);
  });

  it('a tensor lives until it is disposed of', () => {
    const before = tf.memory().numTensors;
    const x = tf.scalar(1);
    x.add(1).add(2);
    expect(tf.memory().numTensors).toBe(before + 3);
    x.dispose();
    x.dispose();
    expect(x.isDisposed).toBe(true);
    expect(tf.memory().numTensors).toBe(before + 2);
  });

  it('a local of a differentiated function goes with it', () => {
    const x = tf.scalar(3);
    const before = tf.memory().numTensors;
    let local;
    tf.grad(x => {
      local = x.square();
      return local.mul(x);
    })(x);
    expect(tf.memory().numTensors).toBe(before + 1);
    expect(local.isDisposed).toBe(true);
    expect(() => local.add(1)).toThrowError();
  });

  it('a variable and what is kept outlive the function that made them', () => {
    const kept = [];
    tf.tidy(() => {
      kept.push(tf.keep(tf.scalar(1)), tf.scalar(2).variable());
    });
    expect(kept.map(x => x.isDisposed)).toEqual([false, false]);
  });

  let made;

  it('a tensor made in one spec', () => {
    made = tf.scalar(1);
    expect(made.isDisposed).toBe(false);
  });

  it('is gone in the next', () => {
    expect(made.isDisposed).toBe(true);
    expect(tf.memory().numTensors).toBe(0);
  });

  it('a named tuple is an object and can be taken apart like an array', async () => {
    const {value, grad} = tf.valueAndGrad(x => x.square())(tf.scalar(3));
    const [first, second] = tf.valueAndGrad(x => x.square())(tf.scalar(3));
    expectArraysClose(await value.data(), await first.data());
    expectArraysClose(await grad.data(), await second.data());
  });
});

describeWithFlags('[failed: wrong value]', ALL_ENVS, () => {
  it('a wrong value', async () => {
    expectArraysClose(await tf.tensor1d([1, 2]).square().data(), [1, 5]);
  });
});

describeWithFlags('[failed: missing error]', ALL_ENVS, () => {
  it('no error where one is asked for', () => {
    expect(() => tf.square(2)).toThrowError();
  });
});

describeWithFlags('[failed: unexpected error]', ALL_ENVS, () => {
  it('an error where none is asked for', () => {
    tf.tensor1d([1, 2]).add(tf.tensor1d([1, 2, 3]));
  });

  it('an error where none is allowed', () => {
    expect(() => tf.tensor1d([1, 2]).add(tf.tensor1d([1, 2, 3]))).not.toThrowError();
  });
});

describeWithFlags('[failed: improper error]', ALL_ENVS, () => {
  it('an error of a class that is not for users, though an error is asked for', () => {
    const dictionary = tf.variableGrads(() => tf.scalar(1).variable(true, 'only').square()).grads;
    expect(Object.keys(dictionary)).toEqual(['only']);
    expect(() => tf.engine().runKernel('Square', {x: {}})).toThrowError();
  });
});

describeWithFlags('[missing]', ALL_ENVS, () => {
  it('a function that VariGrad lacks', () => {
    tf.train.noSuchOptimizer(1);
  });

  it('the same where an error is asked for', () => {
    expect(() => tf.train.noSuchOptimizer(1)).toThrowError();
  });

  it('the same where the spec catches it', () => {
    try {
      tf.train.noSuchOptimizer(1);
    } catch (error) {
      expect(error).toBeDefined();
    }
  });

  it('an argument that VariGrad lacks', () => {
    expect(() => tf.square(1, 2, 3, 4)).toThrowError();
  });
});

describeWithFlags('[failed: timed out]', ALL_ENVS, () => {
  it('a spec that never ends', () => {
    for (;;) {
    }
  });
});

describeWithFlags('[passed]', ALL_ENVS, () => {
  it('a spec after one that never ended', () => {
    expect(tf.scalar(1).shape).toEqual([]);
  });
});
