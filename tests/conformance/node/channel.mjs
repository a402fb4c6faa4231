// The JavaScript side of the pipes to Python: requests that wait for their answer.

import fs from 'node:fs';

const readFrom = Number(process.env.VARIGRAD_READ_FROM);
const writeTo = Number(process.env.VARIGRAD_WRITE_TO);

function read(length) {
  const bytes = Buffer.allocUnsafe(length);
  for (let done = 0; done < length;) {
    const count = fs.readSync(readFrom, bytes, done, length - done, null);
    if (count === 0) {
      process.exit(1); // Python has ended
    }
    done += count;
  }
  return bytes;
}

function receive() {
  return JSON.parse(read(read(4).readUInt32LE(0)).toString('utf8'));
}

function send(message) {
  const body = Buffer.from(JSON.stringify(message), 'utf8');
  const bytes = Buffer.allocUnsafe(4 + body.length);
  bytes.writeUInt32LE(body.length, 0);
  body.copy(bytes, 4);
  for (let done = 0; done < bytes.length;) {
    done += fs.writeSync(writeTo, bytes, done);
  }
}

// Sends a request and returns the response. While Python works on it, it may call functions that it was given:
// `callFunction(number, args)` does that, and returns the answer to send.
export function exchange(request, callFunction) {
  send(request);
  for (;;) {
    const response = receive();
    if (!('call' in response)) {
      return response;
    }
    send({answer: true, ...callFunction(response.call, response.args)});
  }
}
