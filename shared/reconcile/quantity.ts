const SUFFIX: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/**
 * Whether two texts are the same `resource.Quantity`: `0.5` and `500m`, `1Gi` and `1024Mi`.
 *
 * The API server stores the canonical spelling, so comparing texts would differ for ever (kubernetes/kubernetes#131175).
 */
export function sameQuantity(left: unknown, right: unknown): boolean {
  const a = quantity(left);
  const b = quantity(right);
  if (a === undefined || b === undefined) return false;
  return Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b));
}

function quantity(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/.exec(value);
  if (match === null) return undefined;
  const factor = SUFFIX[match[3] ?? ''];
  return factor === undefined ? undefined : Number(`${match[1]}${match[2] ?? ''}`) * factor;
}
