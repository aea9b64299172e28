/** RFC 3339 with seconds, the form of `metav1.Time`. */
export function toRfc3339(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
