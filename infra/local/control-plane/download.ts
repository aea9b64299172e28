import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Dispatcher, EnvHttpProxyAgent, interceptors, request } from 'undici';
import { messageOf } from '../../../shared/errors.ts';
import type { Archive } from './release.ts';
import { runTool } from './run-tool.ts';
import { type Way, type WayOptions, withProgress } from './way.ts';

/** Short, so that a machine without internet goes on to the next way at once. */
const CONNECT_WITHIN_MS = 5_000;
const SILENT_AT_MOST_MS = 30_000;
const MAX_REDIRECTIONS = 5;
const MEBIBYTE = 1024 * 1024;

/** Downloads the pinned release archives and takes the binaries out of those whose digest is right. */
export const download: Way = async (options) => {
  const platform = `${process.platform}-${process.arch}`;
  const archives = options.release.archives[platform];
  if (archives === undefined) {
    return `there are no pinned releases for ${platform}, only for ${Object.keys(options.release.archives).join(' and ')}`;
  }
  // It follows HTTPS_PROXY and NO_PROXY.
  const proxy = new EnvHttpProxyAgent({
    connect: { timeout: CONNECT_WITHIN_MS },
    headersTimeout: SILENT_AT_MOST_MS,
    bodyTimeout: SILENT_AT_MOST_MS,
  });
  try {
    const dispatcher = proxy.compose(interceptors.redirect({ maxRedirections: MAX_REDIRECTIONS }));
    for (const [index, archive] of archives.entries()) {
      const file = join(options.workspace.path, `archive-${index}.tar.gz`);
      const problem = (await fetchTo(file, archive, dispatcher, options)) ?? (await extract(file, archive, options));
      if (problem !== undefined) return problem;
    }
    return undefined;
  } finally {
    await proxy.destroy();
  }
};

async function fetchTo(
  file: string,
  { url: published, sha512 }: Archive,
  dispatcher: Dispatcher,
  options: WayOptions,
): Promise<string | undefined> {
  const { environment, signal } = options;
  const { DRIFTLESS_DOWNLOAD_MIRROR: mirror } = environment;
  const url = mirror === undefined ? published : `${mirror.replace(/\/$/, '')}${new URL(published).pathname}`;
  const hash = createHash('sha512');
  let bytes = 0;
  const transfer = async (): Promise<string | undefined> => {
    const { statusCode, body } = await request(url, { dispatcher, signal });
    if (statusCode !== 200) {
      await body.dump();
      return `${url} answered ${statusCode}`;
    }
    const hashing = async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    };
    await pipeline(body, hashing, createWriteStream(file), { signal });
    return undefined;
  };

  try {
    const said = () => `downloading ${url}: ${Math.round(bytes / MEBIBYTE)} MiB`;
    const problem = await withProgress(options, said, transfer());
    if (problem !== undefined) return problem;
  } catch (thrown) {
    signal.throwIfAborted();
    return `${url} cannot be downloaded: ${messageOf(thrown)}`;
  }
  const digest = hash.digest('hex');
  return digest === sha512 ? undefined : `${url} is not what was pinned: its SHA-512 is ${digest}, not ${sha512}`;
}

async function extract(
  file: string,
  { url, members }: Archive,
  { workspace, directory, environment, signal }: Parameters<Way>[0],
): Promise<string | undefined> {
  const { PATH = '' } = environment;
  const args = ['-xzf', file, '-C', workspace.path, ...Object.keys(members)];
  const { exitCode, lastWords } = await runTool(workspace, { command: 'tar', args, env: { PATH } }, signal);
  if (exitCode !== 0) return `${url} cannot be unpacked: ${lastWords}`;
  for (const [member, name] of Object.entries(members)) {
    await rename(join(workspace.path, member), join(directory, name));
    await chmod(join(directory, name), 0o755);
  }
  return undefined;
}
