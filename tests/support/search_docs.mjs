// Searches the built docs with the search of their own pages.
// node search_docs.mjs SITE QUERY … prints the addresses of the first hits of each query as JSON.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const [site, ...queries] = process.argv.slice(2);
const workers = path.join(site, 'assets/javascripts/workers');
const name = fs.readdirSync(workers).find((each) => /^search.*[.]js$/.test(each));
const index = JSON.parse(fs.readFileSync(path.join(site, 'search/search_index.json'), 'utf8'));

// What a worker finds around it in a browser.
const sent = [];
const listeners = [];
const worker = {
  addEventListener: (_, listener) => listeners.push(listener),
  postMessage: (message) => sent.push(message),
  console, setTimeout, URL,
};
worker.self = worker;
vm.runInContext(fs.readFileSync(path.join(workers, name), 'utf8'), vm.createContext(worker));

async function ask(type, data) {
  sent.length = 0;
  listeners.forEach((listener) => listener({ data: { type, data } }));
  while (!sent.length) await new Promise((resolve) => setTimeout(resolve, 5));
  return sent[0].data;
}

await ask(0, { config: index.config, docs: index.docs, options: { suggest: false } });
const found = {};
for (const query of queries) {
  const { items } = await ask(2, query);
  found[query] = items.slice(0, 5).map((page) => page.toSorted((a, b) => b.score - a.score)[0].location);
}
console.log(JSON.stringify(found));
