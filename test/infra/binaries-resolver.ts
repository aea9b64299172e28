import { resolveBinaries } from '../../infra/local/control-plane/binaries.ts';

// One process that resolves the control plane and says what it got; the test runs several, and kills some.
const binaries = await resolveBinaries({
  environment: process.env,
  onProgress: (text) => console.error(text),
  signal: new AbortController().signal,
});
console.log(JSON.stringify(binaries));
