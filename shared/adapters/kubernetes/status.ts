import type { ApiStatus, StatusCause } from '../../kube/api-error.ts';

/** The parts of `metav1.Status` that are read here; any of them may be missing. */
export interface WireStatus {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly Partial<StatusCause>[]; readonly retryAfterSeconds?: number };
}

/** A refusal as HTTP brings it: mostly a `Status`, but plain text from priority and fairness, or for an unknown path. */
export function statusOfResponse(
  code: number,
  headers: { readonly 'retry-after'?: unknown; readonly date?: unknown },
  body: string,
): ApiStatus {
  const status = { ...statusOfObject(parsedStatus(body) ?? { message: body.trim() }), code };
  const retryAfterMs = delayOf(headers['retry-after'], headers.date) ?? status.retryAfterMs;
  return retryAfterMs === undefined ? status : { ...status, retryAfterMs };
}

/** A refusal as a `Status` object, e.g. in a watch stream. */
export function statusOfObject({ code = 0, reason = '', message = '', details = {} }: WireStatus): ApiStatus {
  const { causes = [], retryAfterSeconds } = details;
  return {
    code,
    reason,
    message,
    causes: causes.map((c) => ({ reason: c.reason ?? '', message: c.message ?? '', field: c.field ?? '' })),
    ...(retryAfterSeconds ? { retryAfterMs: retryAfterSeconds * 1000 } : {}),
  };
}

function parsedStatus(body: string): WireStatus | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    return isStatus(parsed) ? parsed : undefined;
  } catch {
    // Plain text is expected here, see above.
    return undefined;
  }
}

function isStatus(value: unknown): value is WireStatus {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status';
}

/** Milliseconds of a `Retry-After` (RFC 9110, 10.2.3). A date is compared with the server's own, not with our clock. */
function delayOf(retryAfter: unknown, date: unknown): number | undefined {
  if (typeof retryAfter !== 'string') return undefined;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const delay = Date.parse(retryAfter) - Date.parse(String(date));
  return Number.isNaN(delay) ? undefined : Math.max(0, delay);
}
