import { isDeepStrictEqual } from 'node:util';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The JSON merge patch (RFC 7386) that makes the fields of `want` so in `have`; undefined when they are.
 *
 * Fields that `want` does not name belong to others and stay. A field that `want` names as undefined is removed. What
 * `want` names is owned whole: nested fields that it leaves out are removed.
 */
export function mergePatch(want: Fields, have: Fields): Fields | undefined {
  const patch: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(want)) {
    const change = changeOf(value, have[field]);
    if (change !== undefined) patch[field] = change;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** The patch for one owned value, null to remove it, undefined when nothing changes. */
function changeOf(want: unknown, have: unknown): unknown {
  if (want === undefined || want === null) return have === undefined || have === null ? undefined : null;
  if (!isFields(want)) return isDeepStrictEqual(want, have) ? undefined : want;
  if (!isFields(have)) return want;
  const dropped = Object.fromEntries(Object.keys(have).map((field) => [field, undefined]));
  return mergePatch({ ...dropped, ...want }, have);
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
