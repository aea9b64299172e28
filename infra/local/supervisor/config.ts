/** All that the processes of the local stack inherit: enough to find programs and caches, and no credential. */
export function inheritedEnvironment(): Readonly<Record<string, string>> {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME };
}
