import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../shared/adapters/zod/environment.ts';

/** Where what takes long to get is kept between runs, outside of the checkout. */
export function cacheRoot({ DRIFTLESS_CACHE_DIR, XDG_CACHE_HOME, HOME }: Environment): string {
  return DRIFTLESS_CACHE_DIR || join(XDG_CACHE_HOME || join(HOME || homedir(), '.cache'), 'driftless');
}
