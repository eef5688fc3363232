// node perfetto_engine.js FOLDER: Perfetto's trace processor as its page has it, in WebAssembly.
// Answers requests of its RPC protocol from stdin on stdout.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const folder = process.argv[2];
const port = {postMessage: (bytes) => fs.writeSync(1, bytes)};

// What a page gives to its worker.
globalThis.self = globalThis;
globalThis.location = {href: 'file:///'};
globalThis.WorkerGlobalScope = class {};
globalThis.XMLHttpRequest = class {
  open(method, name) {
    this.name = path.basename(name);
  }
  send() {
    this.response = new Uint8Array(fs.readFileSync(path.join(folder, this.name))).buffer;
    this.status = 200;
  }
};
console.log = console.warn = () => {};
// Else it finds out that this is no page.
delete globalThis.process;

vm.runInThisContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'));
setTimeout(() => {
  self.onmessage({data: port});
  port.onmessage({data: new Uint8Array(fs.readFileSync(0))});
}, 0);
